#include "parley/privacy/mechanisms/exponential.h"

#include <algorithm>
#include <vector>

#include "parley/core/threads.h"

namespace parley::privacy {

namespace {

using Wide = ScoreWeights::Wide;

// Only the sums of blocks are kept; the one block that is hit computes its weights again.
constexpr std::size_t kBlock = 256;
constexpr std::size_t kBlocksPerChunk = 64;

}  // namespace

Result<ExponentialSelection> ExponentialSelection::make(const SelectionSettings& settings) {
  PARLEY_TRY(const ScoreGrid grid, ScoreGrid::make(settings));
  PARLEY_TRY(ScoreWeights weights, ScoreWeights::make(settings, grid));
  return ExponentialSelection(settings.epsilon, grid, std::move(weights));
}

Result<std::size_t> ExponentialSelection::select(std::span<const double> scores, Bits& bits) const {
  PARLEY_TRY(const std::int64_t top, grid_.check(scores));
  const auto gap = [&](std::size_t i) {
    return static_cast<std::uint64_t>(top) - static_cast<std::uint64_t>(grid_.steps(scores[i]));
  };

  std::vector<Wide> sums(chunk_count(scores.size(), kBlock));
  parallel_chunks(sums.size(), kBlocksPerChunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t block = first; block < last; ++block) {
      Wide sum = 0;
      const std::size_t end = std::min(scores.size(), (block + 1) * kBlock);
      for (std::size_t i = block * kBlock; i < end; ++i) sum += weights_.upper(gap(i));
      sums[block] = sum;
    }
  });
  Wide total = 0;
  for (const Wide sum : sums) total += sum;

  for (;;) {
    Wide place = below_wide(total, bits);
    std::size_t block = 0;
    for (; place >= sums[block]; ++block) place -= sums[block];
    std::size_t i = block * kBlock;
    std::uint64_t weight = weights_.upper(gap(i));
    for (; place >= weight; weight = weights_.upper(gap(++i))) place -= weight;
    if (weights_.accept(gap(i), weight, static_cast<std::uint64_t>(place), bits)) return i;
  }
}

Result<std::size_t> ExponentialSelection::select_by_rejection(std::span<const double> scores,
                                                              Bits& bits) const {
  PARLEY_TRY(const std::int64_t top, grid_.check(scores));
  for (;;) {
    const std::size_t i = bits.below(scores.size());
    const auto gap = static_cast<std::uint64_t>(top) - static_cast<std::uint64_t>(grid_.steps(scores[i]));
    if (weights_.flip(gap, bits)) return i;
  }
}

}  // namespace parley::privacy
