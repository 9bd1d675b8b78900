// Selection over many steps of which each changes few scores: the gate's side of ExponentialTree. A score arrives as a
// Sensitive with its own bound, which must stay within the bound that the board was opened with; a draw counts against
// the gate's reservation as one Exponential{epsilon}.
//
//   ScoreBoard board = ScoreBoard::open(gate, {epsilon, sums.score_sensitivity(rule)}, candidates);
//   for all v: board.set(v, sums.score(rule, v));            first, and whenever the score changes
//   board.select()
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/gate.h"
#include "parley/privacy/mechanisms/exponential_tree.h"
#include "parley/privacy/values.h"

namespace parley::privacy {

class ScoreBoard {
 public:
  struct Settings {
    Epsilon epsilon;         // of each draw
    double sensitivity = 0;  // of every score, at least that of each score set
  };
  // The gate must outlive it.
  static Result<ScoreBoard> open(Gate& gate, const Settings& settings, std::size_t candidates);

  Result<void> set(std::size_t candidate, const Sensitive<double, Linf>& score);

  // An index by the exponential mechanism over the current scores. Every score must have been set.
  Result<Released<std::size_t>> select();

  [[nodiscard]] Event event() const { return {Exponential{settings_.epsilon.value()}, 1}; }

 private:
  ScoreBoard(Gate& gate, const Settings& settings, std::size_t candidates)
      : gate_(&gate), settings_(settings), first_(candidates, kUnset), unset_(candidates) {}
  static constexpr double kUnset = -std::numeric_limits<double>::infinity();

  Gate* gate_;
  Settings settings_;
  std::vector<double> first_;  // until all are set; then the tree holds them
  std::size_t unset_;
  std::optional<ExponentialTree> tree_;
};

}  // namespace parley::privacy
