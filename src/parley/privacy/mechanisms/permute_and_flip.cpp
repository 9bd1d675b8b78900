#include "parley/privacy/mechanisms/permute_and_flip.h"

#include <numeric>
#include <utility>
#include <vector>

namespace parley::privacy {

Result<PermuteAndFlip> PermuteAndFlip::make(const SelectionSettings& settings) {
  PARLEY_TRY(const ScoreGrid grid, ScoreGrid::make(settings));
  PARLEY_TRY(ScoreWeights weights, ScoreWeights::make(settings, grid));
  return PermuteAndFlip(settings.epsilon, grid, std::move(weights));
}

Result<std::size_t> PermuteAndFlip::select(std::span<const double> scores, Bits& bits) const {
  PARLEY_TRY(const std::int64_t top, grid_.check(scores));
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The order is drawn as far as it is needed. The best candidate's coin always falls, so the loop returns.
  for (std::size_t tried = 0;; ++tried) {
    std::swap(order[tried], order[tried + bits.below(order.size() - tried)]);
    const std::size_t i = order[tried];
    const std::uint64_t gap = grid_.gap(top, scores[i]);
    if (gap == 0 || weights_.flip(gap, bits)) return i;
  }
}

}  // namespace parley::privacy
