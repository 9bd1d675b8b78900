// Report-noisy-max: the index of the largest score after discrete Laplace noise of scale t grains on each.
//
//   general scores    cost 2D/t    t = 2D/epsilon      one record may push the winner down by D and all others up by D
//   monotone scores   cost D/t     t = D/epsilon
//
// with D the sensitivity in grains. Ties go to the lowest index. Proof: noisy_max.md.
#pragma once
#include <cstddef>
#include <span>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/mechanisms/discrete_laplace.h"
#include "parley/privacy/mechanisms/score_weights.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

class NoisyMax {
 public:
  static Result<NoisyMax> make(const SelectionSettings& settings);

  Result<std::size_t> select(std::span<const double> scores, Bits& bits) const;

  [[nodiscard]] Pure event() const { return {epsilon_}; }
  [[nodiscard]] double scale_in_grains() const { return noise_.scale_in_grains(); }
  [[nodiscard]] Grain grain() const { return grid_.grain(); }

 private:
  NoisyMax(double epsilon, ScoreGrid grid, DiscreteLaplaceNoise noise)
      : epsilon_(epsilon), grid_(grid), noise_(std::move(noise)) {}
  double epsilon_;
  ScoreGrid grid_;
  DiscreteLaplaceNoise noise_;
};

}  // namespace parley::privacy
