// The exponential mechanism (McSherry, Talwar 2007): P(i) proportional to exp(eta u_i), with eta = epsilon / (2 Delta),
// or epsilon / Delta for monotone scores; the same law as the argmax of u_i + Gumbel(1/eta). It is epsilon-DP and
// epsilon-bounded-range (Durfee, Rogers 2019).
//
// Both ways of drawing are exact for the scores on the grid, whose sensitivity counts the rounding:
//   select_by_rejection   a uniform candidate, kept with probability exp(-eta gap), else put back and the next drawn
//   select                the same for a few candidates; then one pass over integer weights and one uniform number,
//                         exact by a last acceptance
// Proofs: exponential.md. For many steps over slowly changing scores: exponential_tree.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/mechanisms/score_weights.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

class ExponentialSelection {
 public:
  static Result<ExponentialSelection> make(const SelectionSettings& settings);

  Result<std::size_t> select(std::span<const double> scores, Bits& bits) const;
  Result<std::size_t> select_by_rejection(std::span<const double> scores, Bits& bits) const;

  [[nodiscard]] Exponential event() const { return {epsilon_}; }
  [[nodiscard]] const ScoreGrid& grid() const { return grid_; }
  [[nodiscard]] const ScoreWeights& weights() const { return weights_; }

 private:
  std::optional<std::size_t> try_candidates(std::span<const double> scores, std::int64_t top, std::size_t tries,
                                            Bits& bits) const;
  std::size_t select_in_one_pass(std::span<const double> scores, std::int64_t top, Bits& bits) const;

  ExponentialSelection(double epsilon, ScoreGrid grid, ScoreWeights weights)
      : epsilon_(epsilon), grid_(grid), weights_(std::move(weights)) {}
  double epsilon_;
  ScoreGrid grid_;
  ScoreWeights weights_;
};

}  // namespace parley::privacy
