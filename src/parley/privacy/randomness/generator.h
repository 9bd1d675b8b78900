// Random bits for noise: AES-256 in counter mode, keyed once, with fast key erasure (Bernstein 2017).
//
//   refill:  (next key | words) = AES-256-CTR(key, 0, 0, ...);   key <- next key, the old one is gone
//   next:    hand a word out and erase it
//
// Whoever reads the memory later learns nothing about words that were handed out before. A word of a SecureGenerator is
// never handed out twice, not even in the two halves of a forked process: the pool lies in memory that the kernel wipes
// in the child, and a counter of forks guards where the kernel cannot.
//
// A generator belongs to one thread at a time. Give each party, round or thread its own by fork().
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>

#include "parley/core/result.h"

struct evp_cipher_ctx_st;

namespace parley::privacy {

// Thrown when no more secure bits can be had. There is no weaker source to fall back to: the draw does not happen, and
// neither does the release that wanted it.
class RandomnessFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What every mechanism draws from.
class Bits {
 public:
  virtual ~Bits();
  Bits(const Bits&) = delete;
  Bits& operator=(const Bits&) = delete;

  std::uint64_t next_u64() {
    if (pool_->left == 0 || forks_ != process_forks.load(std::memory_order_relaxed)) [[unlikely]]
      refill();
    std::uint64_t& word = pool_->words[kPoolWords - pool_->left--];
    const std::uint64_t taken = word;
    word = 0;
    return taken;
  }
  // The same words that next_u64() would give, in bulk.
  void fill(std::span<std::uint64_t> words);

  // Uniform on {0, ..., bound - 1}, exactly; bound > 0.
  std::uint64_t below(std::uint64_t bound);

  // False when the bits can be predicted: then no privacy statement holds, whatever noise they became.
  [[nodiscard]] bool claims_valid() const { return claims_valid_; }

  // An independent stream, e.g. one per party and round. The two kinds below say what a repeated label means.
  [[nodiscard]] virtual Result<std::unique_ptr<Bits>> fork(std::string_view label) = 0;
  [[nodiscard]] Result<std::unique_ptr<Bits>> fork(std::string_view label, std::uint64_t round);

 protected:
  static constexpr std::size_t kKeyBytes = 32;
  using Key = std::span<const unsigned char, kKeyBytes>;

  void set_key(Key key);  // restarts the stream
  virtual void rekey_after_fork() = 0;

 private:
  // Nobody else derives from it: whatever says that its bits cannot be predicted would be believed.
  friend class SecureGenerator;
  friend class SeededGenerator;
  explicit Bits(bool claims_valid);

  static constexpr std::size_t kPoolWords = 2048;
  struct Pool {
    std::uint64_t left;  // a wiped pool has none left, so the next draw refills
    std::uint64_t alive;
    std::uint64_t next_key[kKeyBytes / sizeof(std::uint64_t)];
    std::uint64_t words[kPoolWords];  // zero where handed out: the plaintext of the next refill
  };
  struct Unmap {
    void operator()(Pool* pool) const;
  };
  struct FreeCipher {
    void operator()(evp_cipher_ctx_st* cipher) const;
  };

  void refill();

  inline static std::atomic<std::uint64_t> process_forks{0};

  std::unique_ptr<Pool, Unmap> pool_;
  std::unique_ptr<evp_cipher_ctx_st, FreeCipher> cipher_;
  std::uint64_t forks_ = 0;
  bool claims_valid_;
};

// Fills the bytes with entropy of the operating system; false when it cannot.
using EntropySource = bool (*)(std::span<unsigned char>);
bool system_entropy(std::span<unsigned char> bytes);

// Keyed from the operating system; from another source, as tests have, nothing is claimed. Two forks with the same
// label are still independent: the label is mixed with fresh bits of the parent.
class SecureGenerator final : public Bits {
 public:
  static Result<std::unique_ptr<SecureGenerator>> from_system(EntropySource source = &system_entropy);

  using Bits::fork;
  [[nodiscard]] Result<std::unique_ptr<Bits>> fork(std::string_view label) override;

 private:
  explicit SecureGenerator(EntropySource source);
  void rekey_after_fork() override;
  EntropySource source_;
};

// For simulation and tests only: equal seeds and labels give equal bits, in any order of forking. Every claim made
// with it is void.
class SeededGenerator final : public Bits {
 public:
  explicit SeededGenerator(std::uint64_t seed);

  using Bits::fork;
  [[nodiscard]] Result<std::unique_ptr<Bits>> fork(std::string_view label) override;

 private:
  explicit SeededGenerator(Key root);
  void rekey_after_fork() override {}
  unsigned char root_[kKeyBytes];
};

}  // namespace parley::privacy
