// Permute-and-flip (McKenna, Sheldon 2020): go through the candidates in random order and take the first
// whose coin shows heads,
//
//   P(heads) = exp(-eta gap),      eta = epsilon / (2 Delta), or epsilon / Delta for monotone scores
//
// It is epsilon-DP and never worse than the exponential mechanism in expected score; it is not bounded range, so it is
// charged as any pure mechanism. It is exact on the grid: the coins are those of score_weights.h.
// Proof: permute_and_flip.md.
#pragma once
#include <cstddef>
#include <span>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/mechanisms/score_weights.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

class PermuteAndFlip {
 public:
  static Result<PermuteAndFlip> make(const SelectionSettings& settings);

  Result<std::size_t> select(std::span<const double> scores, Bits& bits) const;

  [[nodiscard]] Pure event() const { return {epsilon_}; }

 private:
  PermuteAndFlip(double epsilon, ScoreGrid grid, ScoreWeights weights)
      : epsilon_(epsilon), grid_(grid), weights_(std::move(weights)) {}
  double epsilon_;
  ScoreGrid grid_;
  ScoreWeights weights_;
};

}  // namespace parley::privacy
