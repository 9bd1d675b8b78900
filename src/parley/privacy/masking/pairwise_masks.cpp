#include "parley/privacy/masking/pairwise_masks.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

namespace parley::privacy {

namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using KeyUse = std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)>;
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Key secret_key(const MaskSecret& secret) {
  return {EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, reinterpret_cast<const unsigned char*>(secret.data()),
                                       sizeof secret),
          &EVP_PKEY_free};
}

// SHA-256 of parts whose lengths, but for the last, the domain fixes.
std::string digest(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all += part;
  std::string made(SHA256_DIGEST_LENGTH, '\0');
  SHA256(bytes_of(all), all.size(), reinterpret_cast<unsigned char*>(made.data()));
  return made;
}

Result<std::string> shared_secret(EVP_PKEY* own, std::string_view their_key) {
  const Key theirs(EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, bytes_of(their_key), their_key.size()),
                   &EVP_PKEY_free);
  const KeyUse use(EVP_PKEY_CTX_new(own, nullptr), &EVP_PKEY_CTX_free);
  std::string shared(kMaskKeyBytes, '\0');
  std::size_t size = shared.size();
  // Fails for keys of small order.
  if (!theirs || !use || EVP_PKEY_derive_init(use.get()) != 1 ||
      EVP_PKEY_derive_set_peer(use.get(), theirs.get()) != 1 ||
      EVP_PKEY_derive(use.get(), reinterpret_cast<unsigned char*>(shared.data()), &size) != 1 || size != kMaskKeyBytes)
    return fail(bad_input({.field = "keys"}, "a party's public key makes no shared secret"));
  return shared;
}

// The words of a pair's stream for a round and its task, of which `asked` is the digest.
Result<void> stream(const std::string& pair_key, std::int64_t round, const std::string& asked,
                    std::span<std::uint64_t> words) {
  std::array<char, sizeof round> number{};
  std::memcpy(number.data(), &round, sizeof round);
  const std::string key = digest({"parley mask round", pair_key, {number.data(), number.size()}, asked});
  const std::array<unsigned char, 16> zero{};
  const Cipher cipher(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  bool good = cipher && EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_ctr(), nullptr, bytes_of(key), zero.data()) == 1;
  std::fill(words.begin(), words.end(), 0);
  auto* at = reinterpret_cast<unsigned char*>(words.data());
  constexpr std::size_t kAtOnce = std::size_t{1} << 26;
  for (std::size_t left = words.size_bytes(); good && left > 0;) {
    const int size = static_cast<int>(std::min(left, kAtOnce));
    int written = 0;
    good = EVP_EncryptUpdate(cipher.get(), at, &written, at, size) == 1 && written == size;
    at += size;
    left -= static_cast<std::size_t>(size);
  }
  if (!good) return fail(failed("the cipher of the masks failed; nothing was released"));
  return {};
}

}  // namespace

Result<std::string> mask_public_key(const MaskSecret& secret) {
  const Key key = secret_key(secret);
  std::string made(kMaskKeyBytes, '\0');
  std::size_t size = made.size();
  if (!key || EVP_PKEY_get_raw_public_key(key.get(), reinterpret_cast<unsigned char*>(made.data()), &size) != 1 ||
      size != kMaskKeyBytes)
    return fail(failed("no key for the masks could be made"));
  return made;
}

Result<PairwiseMasks> PairwiseMasks::agree(const MaskSecret& secret, int own,
                                           const std::vector<std::string>& public_keys, std::string_view terms) {
  PARLEY_TRY(const std::string own_key, mask_public_key(secret));
  const auto at = static_cast<std::size_t>(own);
  if (public_keys.size() < 2 || at >= public_keys.size() || public_keys[at] != own_key)
    return fail(bad_input({.field = "keys"}, "must be those of at least two parties, this party's own in its place"));
  const Key key = secret_key(secret);
  const std::string agreed = digest({"parley mask terms", terms});
  std::vector<std::string> pair_keys(public_keys.size());
  for (std::size_t p = 0; p < public_keys.size(); ++p) {
    const std::string& theirs = public_keys[p];
    if (theirs.size() != kMaskKeyBytes || std::count(public_keys.begin(), public_keys.end(), theirs) != 1)
      return fail(bad_input({.field = "keys"}, "must be 32 bytes each, and no two the same"));
    if (p == at) continue;
    PARLEY_TRY(const std::string shared, shared_secret(key.get(), theirs));
    pair_keys[p] = p > at ? digest({"parley mask pair", shared, own_key, theirs, agreed})
                          : digest({"parley mask pair", shared, theirs, own_key, agreed});
  }
  return PairwiseMasks(own, std::move(pair_keys));
}

Result<std::vector<std::uint64_t>> PairwiseMasks::shared_with(const std::vector<int>& others, std::int64_t round,
                                                              std::size_t size, std::string_view task) const {
  const std::string asked = digest({"parley mask task", task});
  std::vector<std::uint64_t> mask(size, 0), words(size);
  for (const int other : others) {
    if (other == own_ || other < 0 || static_cast<std::size_t>(other) >= pair_keys_.size())
      return fail(bad_input({.field = "parties"}, "are not those whose masks these are"));
    PARLEY_CHECK(stream(pair_keys_[static_cast<std::size_t>(other)], round, asked, words));
    for (std::size_t k = 0; k < size; ++k) mask[k] += other > own_ ? words[k] : 0 - words[k];
  }
  return mask;
}

Result<std::vector<std::uint64_t>> self_words(std::string_view self, std::int64_t round, std::size_t size,
                                              std::string_view task) {
  std::vector<std::uint64_t> words(size);
  PARLEY_CHECK(stream(digest({"parley mask self", self}), round, digest({"parley mask task", task}), words));
  return words;
}

std::string self_commitment(std::string_view self) {
  return digest({"parley mask commitment", self});
}

Result<OneTimeMask> PairwiseMasks::mask(std::int64_t round, std::size_t size, std::string_view task,
                                        std::string_view self) {
  // After the largest number there is no next one to go on from.
  if (round < first_unused_ || round == std::numeric_limits<std::int64_t>::max())
    return fail(bad_input({.field = "task"}, "a round's mask is used once"));
  std::vector<int> others;
  for (int p = 0; p < static_cast<int>(pair_keys_.size()); ++p)
    if (p != own_) others.push_back(p);
  PARLEY_TRY(std::vector<std::uint64_t> mask, shared_with(others, round, size, task));
  if (!self.empty()) {
    PARLEY_TRY(const auto own, self_words(self, round, size, task));
    for (std::size_t k = 0; k < size; ++k) mask[k] += own[k];
  }
  first_unused_ = round + 1;
  return OneTimeMask(std::move(mask), static_cast<int>(pair_keys_.size()));
}

void add_words(const std::vector<std::int64_t>& words, std::vector<std::int64_t>& sum) {
  for (std::size_t k = 0; k < sum.size(); ++k)
    sum[k] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum[k]) + static_cast<std::uint64_t>(words[k]));
}

}  // namespace parley::privacy
