#include "parley/privacy/masking/dealt_masks.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

namespace {

using Key = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

// Every part but the seed has a fixed length, and a seed has kDealtSeedBytes.
Key key_of(std::string_view seed, Dealt purpose, std::int64_t index, std::int64_t part) {
  std::string all = "parley dealt masks";
  all += seed;
  all += static_cast<char>(purpose);
  for (const std::int64_t number : {index, part}) {
    std::array<char, sizeof number> bytes{};
    std::memcpy(bytes.data(), &number, sizeof number);
    all.append(bytes.data(), bytes.size());
  }
  Key key{};
  SHA256(reinterpret_cast<const unsigned char*>(all.data()), all.size(), key.data());
  return key;
}

template <RingWord Word>
constexpr Word kept_bits(int bits) {
  return bits >= static_cast<int>(8 * sizeof(Word)) ? ~Word{0} : static_cast<Word>((Word{1} << bits) - 1);
}

}  // namespace

// ---- streams ----

void DealtStream::FreeCipher::operator()(evp_cipher_ctx_st* cipher) const {
  EVP_CIPHER_CTX_free(cipher);
}

DealtStream::DealtStream(std::string_view seed, Dealt purpose, std::int64_t index, std::int64_t part)
    : cipher_(EVP_CIPHER_CTX_new()) {
  const Key key = key_of(seed, purpose, index, part);
  const std::array<unsigned char, 16> zero{};
  if (!cipher_ || EVP_EncryptInit_ex(cipher_.get(), EVP_aes_256_ctr(), nullptr, key.data(), zero.data()) != 1)
    throw RandomnessFailure("AES is not there");
}

// The stream itself: zeros, enciphered.
void DealtStream::fill(unsigned char* bytes, std::size_t count) {
  std::memset(bytes, 0, count);
  while (count > 0) {
    const int now = static_cast<int>(std::min<std::size_t>(count, std::size_t{1} << 30));
    int made = 0;
    if (EVP_EncryptUpdate(cipher_.get(), bytes, &made, bytes, now) != 1 || made != now)
      throw RandomnessFailure("AES failed");
    bytes += now;
    count -= static_cast<std::size_t>(now);
  }
}

void DealtStream::fill(std::span<std::uint32_t> words) {
  fill(reinterpret_cast<unsigned char*>(words.data()), words.size_bytes());
}
void DealtStream::fill(std::span<std::uint64_t> words) {
  fill(reinterpret_cast<unsigned char*>(words.data()), words.size_bytes());
}

std::string dealt_seed(std::string_view of_dealer, int party) {
  const Key key = key_of(of_dealer, Dealt::kPartySeed, party, 0);
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

// ---- masks of a party ----

Result<DealtMasks> DealtMasks::make(std::string seed) {
  DealtMasks made(std::move(seed));
  if (made.seed_.size() != kDealtSeedBytes)
    return fail(bad_input({.field = "task"}, fmt::format("must deal a seed of {} bytes", kDealtSeedBytes)));
  return made;
}

Result<void> DealtMasks::use(Dealt purpose, std::int64_t index) {
  std::int64_t& first = first_unused_[static_cast<std::size_t>(purpose)];
  if (index < first || index < 0 || index >= (std::int64_t{1} << 62))
    return fail(bad_input({.field = "task"}, "asks for an index whose mask was used; nothing is sent under it again",
                          fmt::format("{}", index)));
  first = index + 1;
  return {};
}

template <RingWord Word>
Result<std::vector<Word>> DealtMasks::known(Dealt purpose, std::int64_t index, std::size_t size,
                                            std::int64_t part) const {
  try {
    std::vector<Word> words(size);
    DealtStream(seed_, purpose, index, part).fill(words);
    return words;
  } catch (const RandomnessFailure& why) {
    return fail(failed(why.what()));
  }
}

template <RingWord Word>
Result<DealtMask<Word>> DealtMasks::mask(Dealt purpose, std::int64_t index, std::size_t size, int bits) {
  PARLEY_CHECK(use(purpose, index));
  PARLEY_TRY(std::vector<Word> words, known<Word>(purpose, index, size));
  for (Word& word : words) word &= kept_bits<Word>(bits);
  return DealtMask<Word>(purpose, std::move(words));
}

template <RingWord Word>
Result<DealtMask<Word>> DealtMasks::column(std::int64_t column, std::size_t size) {
  PARLEY_CHECK(use(Dealt::kMatrix, column));
  PARLEY_TRY(std::vector<Word> words, known<Word>(Dealt::kMatrix, 0, size, column));
  return DealtMask<Word>(Dealt::kMatrix, std::move(words));
}

template <RingWord Word>
Result<DealtMask<Word>> DealtMasks::share(std::int64_t index, std::vector<Word> words) {
  PARLEY_CHECK(use(Dealt::kProducts, index));
  return DealtMask<Word>(Dealt::kProducts, std::move(words));
}

void DealtMasks::skip_to(std::span<const std::int64_t> marks) {
  for (std::size_t p = 0; p < std::min(marks.size(), first_unused_.size()); ++p)
    first_unused_[p] = std::max(first_unused_[p], marks[p]);
}

// ---- bytes ----

template <RingWord Word>
std::string packed(std::span<const Word> words, int bits) {
  const auto width = static_cast<std::size_t>(bits / 8);
  std::string bytes(words.size() * width, '\0');
  if (bytes.empty()) return bytes;
  if (width == sizeof(Word)) {
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
  }
  // Whole words, each over the surplus of the one before; the last ones byte by byte.
  char* at = bytes.data();
  const char* const end = at + bytes.size();
  for (const Word word : words) {
    const auto room = static_cast<std::size_t>(end - at);
    std::memcpy(at, &word, room >= sizeof(Word) ? sizeof(Word) : width);
    at += width;
  }
  return bytes;
}

template <RingWord Word>
Result<std::vector<Word>> unpacked(std::string_view bytes, std::size_t count, int bits) {
  const auto width = static_cast<std::size_t>(bits / 8);
  if (width == 0 || bytes.size() / width != count || bytes.size() % width != 0)
    return fail(bad_input({.field = "task"}, "holds masked words of another number or width"));
  std::vector<Word> words(count);
  if (words.empty()) return words;
  if (width == sizeof(Word)) {
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
  }
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  for (Word& word : words) {
    const auto room = static_cast<std::size_t>(end - at);
    std::memcpy(&word, at, room >= sizeof(Word) ? sizeof(Word) : width);
    word &= kept_bits<Word>(bits);
    at += width;
  }
  return words;
}

template Result<std::vector<std::uint32_t>> DealtMasks::known(Dealt, std::int64_t, std::size_t, std::int64_t) const;
template Result<std::vector<std::uint64_t>> DealtMasks::known(Dealt, std::int64_t, std::size_t, std::int64_t) const;
template Result<DealtMask<std::uint32_t>> DealtMasks::mask(Dealt, std::int64_t, std::size_t, int);
template Result<DealtMask<std::uint64_t>> DealtMasks::mask(Dealt, std::int64_t, std::size_t, int);
template Result<DealtMask<std::uint32_t>> DealtMasks::column(std::int64_t, std::size_t);
template Result<DealtMask<std::uint64_t>> DealtMasks::column(std::int64_t, std::size_t);
template Result<DealtMask<std::uint32_t>> DealtMasks::share(std::int64_t, std::vector<std::uint32_t>);
template Result<DealtMask<std::uint64_t>> DealtMasks::share(std::int64_t, std::vector<std::uint64_t>);
template std::string packed(std::span<const std::uint32_t>, int);
template std::string packed(std::span<const std::uint64_t>, int);
template Result<std::vector<std::uint32_t>> unpacked(std::string_view, std::size_t, int);
template Result<std::vector<std::uint64_t>> unpacked(std::string_view, std::size_t, int);

}  // namespace parley::privacy
