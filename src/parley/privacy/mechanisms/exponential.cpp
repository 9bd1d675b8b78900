#include "parley/privacy/mechanisms/exponential.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "parley/core/threads.h"

namespace parley::privacy {

namespace {

using Wide = ScoreWeights::Wide;

// Only the sums of blocks are kept; the one block that is hit computes its weights again.
constexpr std::size_t kBlock = 256;
constexpr std::size_t kBlocksPerChunk = 64;
// Trying one candidate in this many costs little beside the pass over all, and often makes it unnecessary.
constexpr std::size_t kTriesOneIn = 32;

}  // namespace

Result<ExponentialSelection> ExponentialSelection::make(const SelectionSettings& settings) {
  PARLEY_TRY(const ScoreGrid grid, ScoreGrid::make(settings));
  PARLEY_TRY(ScoreWeights weights, ScoreWeights::make(settings, grid));
  return ExponentialSelection(settings.epsilon, grid, std::move(weights));
}

std::optional<std::size_t> ExponentialSelection::try_candidates(std::span<const double> scores, std::int64_t top,
                                                                std::size_t tries, Bits& bits) const {
  for (; tries > 0; --tries) {
    const std::size_t i = bits.below(scores.size());
    if (weights_.flip(grid_.gap(top, scores[i]), bits)) return i;
  }
  return std::nullopt;
}

Result<std::size_t> ExponentialSelection::select_by_rejection(std::span<const double> scores, Bits& bits) const {
  PARLEY_TRY(const std::int64_t top, grid_.check(scores));
  return *try_candidates(scores, top, std::numeric_limits<std::size_t>::max(), bits);
}

Result<std::size_t> ExponentialSelection::select(std::span<const double> scores, Bits& bits) const {
  PARLEY_TRY(const std::int64_t top, grid_.check(scores));
  if (const auto early = try_candidates(scores, top, scores.size() / kTriesOneIn, bits)) return *early;
  return select_in_one_pass(scores, top, bits);
}

std::size_t ExponentialSelection::select_in_one_pass(std::span<const double> scores, std::int64_t top,
                                                     Bits& bits) const {
  const auto gap = [&](std::size_t i) { return grid_.gap(top, scores[i]); };

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

}  // namespace parley::privacy
