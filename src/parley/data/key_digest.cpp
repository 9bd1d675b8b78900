#include "parley/data/key_digest.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "parley/core/files.h"
#include "parley/core/threads.h"

namespace parley::data {

namespace {

constexpr std::size_t kLeastSecret = 16;
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kGrain = 4096;

// 0, 7, -12: as a database writes an integer, and nothing else.
bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text == "0") return true;
  return !text.empty() && text.front() >= '1' && text.front() <= '9' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

struct Seen {
  std::atomic<bool> numbers = false;
  std::atomic<bool> texts = false;

  [[nodiscard]] KeyForm form() const {
    if (numbers) return texts ? KeyForm::kMixed : KeyForm::kIntegers;
    return texts ? KeyForm::kTexts : KeyForm::kEmpty;
  }
};

// The texts of one tuple, each with its length before it.
bool gather(const KeyParts& columns, std::size_t row, std::string& text) {
  text.clear();
  for (const KeyText* column : columns) {
    if (column->missing(row)) return false;
    const std::string_view part = (*column)[row];
    const auto size = static_cast<std::uint32_t>(part.size());
    for (int byte = 0; byte < 4; ++byte) text.push_back(static_cast<char>(size >> (8 * byte)));
    text += part;
  }
  return true;
}

// The digest that stands for a missing key is no key's.
KeyDigest some(KeyDigest digest) {
  if (digest == kMissingKey) digest.low = 1;
  return digest;
}

// `make`: a digest maker of a thread's own, called with the text of a tuple.
template <class Maker>
KeyColumns digests(const KeyParts& columns, const Maker& make) {
  KeyColumns keys;
  const std::size_t rows = columns.empty() ? 0 : columns.front()->size();
  keys.digests.resize(rows, kMissingKey);
  Seen seen;
  parallel_chunks(rows, kGrain, [&](std::size_t begin, std::size_t end) {
    auto digest = make();
    std::string text;
    bool numbers = false, texts = false;
    for (std::size_t row = begin; row < end; ++row) {
      if (!gather(columns, row, text)) continue;
      keys.digests[row] = some(digest(text));
      bool whole = true;
      for (const KeyText* column : columns) whole = whole && is_whole_number((*column)[row]);
      (whole ? numbers : texts) = true;
    }
    if (numbers) seen.numbers = true;
    if (texts) seen.texts = true;
  });
  keys.form = seen.form();
  return keys;
}

using Mac = std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)>;
using MacUse = std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)>;

// BLAKE2b under a key, 128 bits of it; every failure of the library is kept until somebody asks.
class KeyedHash {
 public:
  KeyedHash(EVP_MAC* mac, std::span<const unsigned char> key, std::atomic<bool>& failed)
      : use_(mac == nullptr ? nullptr : EVP_MAC_CTX_new(mac), &EVP_MAC_CTX_free), key_(key), failed_(failed) {
    std::size_t size = sizeof(KeyDigest);
    const OSSL_PARAM cut[] = {OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size), OSSL_PARAM_construct_end()};
    if (!use_ || EVP_MAC_CTX_set_params(use_.get(), cut) != 1) failed_ = true;
  }

  KeyDigest operator()(std::string_view text) {
    if (!use_) return {};
    unsigned char out[sizeof(KeyDigest)] = {};
    std::size_t written = 0;
    if (EVP_MAC_init(use_.get(), key_.data(), key_.size(), nullptr) != 1 ||
        EVP_MAC_update(use_.get(), reinterpret_cast<const unsigned char*>(text.data()), text.size()) != 1 ||
        EVP_MAC_final(use_.get(), out, &written, sizeof out) != 1 || written != sizeof out)
      failed_ = true;
    KeyDigest digest;
    for (int byte = 0; byte < 8; ++byte) {
      digest.low |= std::uint64_t{out[byte]} << (8 * byte);
      digest.high |= std::uint64_t{out[8 + byte]} << (8 * byte);
    }
    return digest;
  }

 private:
  MacUse use_;
  std::span<const unsigned char> key_;
  std::atomic<bool>& failed_;
};

Result<std::vector<unsigned char>> sha256_of(std::string_view domain, std::string_view text) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::vector<unsigned char> out(kKeyBytes);
  unsigned int size = 0;
  if (!hash || EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) != 1 ||
      EVP_DigestUpdate(hash.get(), domain.data(), domain.size()) != 1 ||
      EVP_DigestUpdate(hash.get(), text.data(), text.size()) != 1 ||
      EVP_DigestFinal_ex(hash.get(), out.data(), &size) != 1 || size != kKeyBytes)
    return fail(failed("the hash of the federation's secret could not be computed"));
  return out;
}

}  // namespace

Result<FederationSecret> FederationSecret::read(const std::string& path) {
  PARLEY_TRY(std::string text, read_whole(path, 1 << 16));
  while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != std::string_view::npos) text.pop_back();
  if (text.size() < kLeastSecret)
    return fail(bad_input({path, 0, ""}, "a federation's secret has at least 16 bytes, as from: openssl rand -hex 32",
                          std::to_string(text.size())));
  FederationSecret secret;
  PARLEY_TRY(secret.key_, sha256_of("parley federation secret\n", text));
  return secret;
}

Result<FederationSecret> FederationSecret::of_run(std::string_view run) const {
  FederationSecret own;
  const std::string_view key(reinterpret_cast<const char*>(key_.data()), key_.size());
  PARLEY_TRY(own.key_, sha256_of("parley keys of a run\n", std::string(key) + std::string(run)));
  return own;
}

KeyColumns digests_within(const KeyParts& columns) {
  return digests(columns, [] {
    return [](std::string_view text) {
      const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
      return KeyDigest{hash.low64, hash.high64};
    };
  });
}

Result<KeyColumns> digests_between(const KeyParts& columns, const FederationSecret& secret) {
  const Mac mac(EVP_MAC_fetch(nullptr, "BLAKE2BMAC", nullptr), &EVP_MAC_free);
  std::atomic<bool> broken = false;
  KeyColumns keys = digests(columns, [&] { return KeyedHash(mac.get(), secret.key(), broken); });
  if (broken) return fail(failed("keys could not be hashed under the federation's secret"));
  return keys;
}

}  // namespace parley::data
