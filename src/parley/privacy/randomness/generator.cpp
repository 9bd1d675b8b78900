#include "parley/privacy/randomness/generator.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>

namespace parley::privacy {

namespace {

constexpr std::uint64_t kAlive = 0x6b65794f6e636521;
constexpr std::array<unsigned char, 16> kZeroCounter{};

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

// SHA-256 of a domain name, 32 bytes of secret or seed, and a label. Both first parts have a length
// that the domain fixes, so no two (secret, label) pairs collide.
Digest derive(std::string_view domain, std::span<const unsigned char> secret, std::string_view label) {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  Digest digest{};
  if (!hash || EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) != 1 ||
      EVP_DigestUpdate(hash.get(), domain.data(), domain.size()) != 1 ||
      EVP_DigestUpdate(hash.get(), secret.data(), secret.size()) != 1 ||
      EVP_DigestUpdate(hash.get(), label.data(), label.size()) != 1 ||
      EVP_DigestFinal_ex(hash.get(), digest.data(), nullptr) != 1)
    throw RandomnessFailure("a key could not be derived: SHA-256 failed");
  return digest;
}

std::span<const unsigned char> bytes_of(const std::uint64_t& word) {
  return {reinterpret_cast<const unsigned char*>(&word), sizeof word};
}

}  // namespace

bool system_entropy(std::span<unsigned char> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

void Bits::Unmap::operator()(Pool* pool) const {
  OPENSSL_cleanse(pool, sizeof *pool);
  munmap(pool, sizeof *pool);
}

void Bits::FreeCipher::operator()(evp_cipher_ctx_st* cipher) const {
  EVP_CIPHER_CTX_free(cipher);
}

Bits::Bits(bool claims_valid) : cipher_(EVP_CIPHER_CTX_new()), claims_valid_(claims_valid) {
  static std::once_flag watching;
  static bool watched = false;
  std::call_once(watching, [] {
    watched = pthread_atfork(nullptr, nullptr, [] { process_forks.fetch_add(1, std::memory_order_relaxed); }) == 0;
  });
  void* memory = mmap(nullptr, sizeof(Pool), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || !cipher_ || !watched) {
    if (memory != MAP_FAILED) munmap(memory, sizeof(Pool));
    throw RandomnessFailure("no memory for a random generator");
  }
  pool_.reset(static_cast<Pool*>(memory));
  forks_ = process_forks.load(std::memory_order_relaxed);
  // Both are extra walls: the first covers clone(2) without libc's fork, which the counter cannot see; the
  // second keeps keys out of core dumps. Old kernels lack them.
  if (claims_valid_) madvise(memory, sizeof(Pool), MADV_WIPEONFORK);
  madvise(memory, sizeof(Pool), MADV_DONTDUMP);
  if (EVP_EncryptInit_ex(cipher_.get(), EVP_aes_256_ctr(), nullptr, nullptr, nullptr) != 1)
    throw RandomnessFailure("AES-256-CTR is not available");
}

Bits::~Bits() = default;

void Bits::set_key(Key key) {
  if (EVP_EncryptInit_ex(cipher_.get(), nullptr, nullptr, key.data(), kZeroCounter.data()) != 1)
    throw RandomnessFailure("AES-256-CTR refused a key");
  OPENSSL_cleanse(pool_.get(), sizeof(Pool));
  pool_->alive = kAlive;
}

void Bits::refill() {
  const std::uint64_t forks = process_forks.load(std::memory_order_relaxed);
  if (forks != forks_ || pool_->alive != kAlive) {
    rekey_after_fork();
    forks_ = forks;
    if (pool_->left > 0) return;
  }
  // next_key and words are contiguous and all zero here, so encrypting in place writes the key stream.
  auto* block = reinterpret_cast<unsigned char*>(pool_->next_key);
  constexpr int kBytes = sizeof(Pool::next_key) + sizeof(Pool::words);
  static_assert(offsetof(Pool, words) == offsetof(Pool, next_key) + sizeof(Pool::next_key));
  int written = 0;
  const bool done = EVP_EncryptUpdate(cipher_.get(), block, &written, block, kBytes) == 1 && written == kBytes;
  const bool rekeyed = done && EVP_EncryptInit_ex(cipher_.get(), nullptr, nullptr, block, kZeroCounter.data()) == 1;
  OPENSSL_cleanse(pool_->next_key, sizeof pool_->next_key);
  if (!rekeyed) {
    OPENSSL_cleanse(pool_->words, sizeof pool_->words);
    throw RandomnessFailure("AES-256-CTR failed while drawing random words");
  }
  pool_->left = kPoolWords;
}

void Bits::fill(std::span<std::uint64_t> words) {
  while (!words.empty()) {
    words.front() = next_u64();
    words = words.subspan(1);
    const std::size_t count = std::min<std::size_t>(words.size(), pool_->left);
    std::uint64_t* from = pool_->words + (kPoolWords - pool_->left);
    std::memcpy(words.data(), from, count * sizeof *from);
    std::memset(from, 0, count * sizeof *from);
    pool_->left -= count;
    words = words.subspan(count);
  }
}

std::uint64_t Bits::below(std::uint64_t bound) {
  // Lemire 2019: the high half of word * bound is uniform once the 2^64 mod bound surplus low halves are
  // refused.
  unsigned __int128 product = static_cast<unsigned __int128>(next_u64()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t surplus = -bound % bound;
    while (static_cast<std::uint64_t>(product) < surplus) product = static_cast<unsigned __int128>(next_u64()) * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

Result<std::unique_ptr<Bits>> Bits::fork(std::string_view label, std::uint64_t round) {
  // The fixed-length round comes first, so labels of any length stay apart.
  std::string framed("round");
  for (int byte = 0; byte < 8; ++byte) framed += static_cast<char>(round >> (8 * byte));
  framed += label;
  return fork(framed);
}

SecureGenerator::SecureGenerator(EntropySource source) : Bits(source == &system_entropy), source_(source) {}

void SecureGenerator::rekey_after_fork() {
  std::array<unsigned char, kKeyBytes> key{};
  if (!source_(key)) throw RandomnessFailure("the operating system gave no entropy after a fork");
  set_key(key);
  OPENSSL_cleanse(key.data(), key.size());
}

Result<std::unique_ptr<SecureGenerator>> SecureGenerator::from_system(EntropySource source) {
  try {
    std::unique_ptr<SecureGenerator> generator(new SecureGenerator(source));
    std::array<unsigned char, kKeyBytes> key{};
    if (!source(key)) return fail(failed("the operating system gave no entropy for a random generator"));
    generator->set_key(key);
    OPENSSL_cleanse(key.data(), key.size());
    return generator;
  } catch (const RandomnessFailure& failure) {
    return fail(failed(failure.what()));
  }
}

Result<std::unique_ptr<Bits>> SecureGenerator::fork(std::string_view label) {
  try {
    std::array<std::uint64_t, kKeyBytes / sizeof(std::uint64_t)> fresh{};
    fill(fresh);
    Digest key = derive("parley secure stream", {reinterpret_cast<unsigned char*>(fresh.data()), kKeyBytes}, label);
    std::unique_ptr<SecureGenerator> child(new SecureGenerator(source_));
    child->set_key(key);
    OPENSSL_cleanse(fresh.data(), sizeof fresh);
    OPENSSL_cleanse(key.data(), key.size());
    return std::unique_ptr<Bits>(std::move(child));
  } catch (const RandomnessFailure& failure) {
    return fail(failed(failure.what()));
  }
}

SeededGenerator::SeededGenerator(std::uint64_t seed)
    : SeededGenerator(Key(derive("parley seeded stream", bytes_of(seed), {}))) {}

SeededGenerator::SeededGenerator(Key root) : Bits(false) {
  std::copy(root.begin(), root.end(), root_);
  set_key(root);
}

Result<std::unique_ptr<Bits>> SeededGenerator::fork(std::string_view label) {
  try {
    const Digest root = derive("parley seeded fork", root_, label);
    return std::unique_ptr<Bits>(new SeededGenerator(Key(root)));
  } catch (const RandomnessFailure& failure) {
    return fail(failed(failure.what()));
  }
}

}  // namespace parley::privacy
