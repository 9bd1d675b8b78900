#include "parley/privacy/mechanisms/noisy_max.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace parley::privacy {

Result<NoisyMax> NoisyMax::make(const SelectionSettings& settings) {
  PARLEY_TRY(const ScoreGrid grid, ScoreGrid::make(settings));
  if (!(settings.epsilon > 0) || !std::isfinite(settings.epsilon))
    return fail(
        bad_input({.field = "epsilon"}, "must be a finite number above 0", fmt::format("{}", settings.epsilon)));
  const double sides = settings.scores == Scores::kMonotone ? 1 : 2;
  // The quotient is rounded once and the sensitivity, above 2^53 grains, once: two steps up make the scale
  // safe.
  double scale = sides * static_cast<double>(grid.sensitivity()) / settings.epsilon;
  for (int step = 0; step < 2; ++step) scale = std::nextafter(scale, std::numeric_limits<double>::infinity());
  PARLEY_TRY(DiscreteLaplaceNoise noise, DiscreteLaplaceNoise::make(scale, Grain{0}));
  return NoisyMax(settings.epsilon, grid, std::move(noise));
}

Result<std::size_t> NoisyMax::select(std::span<const double> scores, Bits& bits) const {
  PARLEY_CHECK(grid_.check(scores));
  std::array<std::int64_t, 512> steps;
  std::int64_t best = std::numeric_limits<std::int64_t>::min();
  std::size_t winner = 0;
  for (std::size_t start = 0; start < scores.size(); start += steps.size()) {
    const std::span block(steps.data(), std::min(steps.size(), scores.size() - start));
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = grid_.steps(scores[start + i]);
    noise_.add_to(block, bits);
    for (std::size_t i = 0; i < block.size(); ++i)
      if (block[i] > best) {
        best = block[i];
        winner = start + i;
      }
  }
  return winner;
}

}  // namespace parley::privacy
