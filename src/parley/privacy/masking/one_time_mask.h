// What a party's part of a masked sum is made of (masked_sum.md).
#pragma once
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace parley::privacy {

// Words that nobody but the party and those it shares secrets with can tell from random ones. The parties' masks of one
// round add up to zero modulo 2^64. Two values under one mask would reveal their difference, so a mask cannot be copied
// and the gate uses it up.
class OneTimeMask {
 public:
  OneTimeMask(const OneTimeMask&) = delete;
  OneTimeMask& operator=(const OneTimeMask&) = delete;
  OneTimeMask(OneTimeMask&&) noexcept = default;
  OneTimeMask& operator=(OneTimeMask&&) noexcept = default;
  [[nodiscard]] std::size_t size() const { return words_.size(); }

 private:
  friend class PairwiseMasks;  // pairwise_masks.h
  friend class Gate;
  OneTimeMask(std::vector<std::uint64_t> words, int parties) : words_(std::move(words)), parties_(parties) {}
  std::vector<std::uint64_t> words_;
  int parties_;  // whose masks cancel
};

// value + noise + mask, each entry modulo 2^64: says nothing before the words of all parties are added.
struct MaskedVector {
  std::vector<std::int64_t> words;
};

// The deviation of the noise that each of `parties` adds, in the unit of the values.
struct NoiseShare {
  double sigma = 0;
  int parties = 0;
};

// What a party's masks of one run come from.
using MaskSecret = std::array<std::uint64_t, 4>;

}  // namespace parley::privacy
