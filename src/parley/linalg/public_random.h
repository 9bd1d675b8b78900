// Random numbers that everyone who knows the seed can make again: the same bits on every machine.
// For sketches and other public choices; never for privacy.
//
// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
// (SC 2011): block(counter) = ten rounds on a 128-bit counter under the 64-bit seed. Number k of stream s
// is a function of (seed, s, k) alone.
//
//   round:  (c0, c1, c2, c3) <- (hi(M1 c2) ^ c1 ^ k0, lo(M1 c2), hi(M0 c0) ^ c3 ^ k1, lo(M0 c0))
//   key:    (k0, k1) <- (k0 + 0x9E3779B9, k1 + 0xBB67AE85) between rounds
//   M0 = 0xD2511F53, M1 = 0xCD9E8D57; counter = (k low, k high, s low, s high)
//
// A block holds two 64-bit words, (c0 | c1 << 32) and (c2 | c3 << 32); word k of a stream is word k mod 2 of
// block k / 2. A uniform is (top 53 bits + 1/2) / 2^53; a normal is the quantile function of it (Wichura's
// AS 241, Applied Statistics 37, 1988), with a logarithm of our own, because libraries differ in the
// last bit of theirs.
#pragma once
#include <array>
#include <cstdint>

namespace parley::linalg {

class PublicRandom {
 public:
  explicit PublicRandom(std::uint64_t seed) : seed_(seed) {}

  [[nodiscard]] std::array<std::uint64_t, 2> block(std::uint64_t stream, std::uint64_t number) const;
  [[nodiscard]] std::uint64_t word(std::uint64_t stream, std::uint64_t k) const { return block(stream, k / 2)[k % 2]; }
  // Below `bound`, from word k: the high half of word * bound.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound, std::uint64_t stream, std::uint64_t k) const {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(word(stream, k)) * bound) >> 64);
  }

  static double uniform(std::uint64_t word) { return (static_cast<double>(word >> 11) + 0.5) * 0x1p-53; }
  static double normal(std::uint64_t word) { return normal_quantile(uniform(word)); }

  // The x with P(N(0,1) <= x) = p, for 0 < p < 1, to about 1e-15 relative.
  static double normal_quantile(double p);

 private:
  std::uint64_t seed_;
};

}  // namespace parley::linalg
