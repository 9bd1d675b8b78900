// Selection over many steps of which each changes few scores: the gate's side of ExponentialTree. A score arrives as a
// Sensitive with its own bound, which must stay within the bound that the board was opened with; a draw counts against
// the gate's reservation as one Exponential{epsilon}.
//
//   ScoreBoard board = ScoreBoard::open(gate, {epsilon, sums.score_sensitivity(rule)}, candidates);
//   for all v: board.set(v, sums.score(rule, v));            first, and whenever the score changes
//   board.select();                                          in every step
#pragma once
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
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
  Result<void> set_all(const Sensitive<ScoreList, Linf>& scores);
  Result<void> set_some(std::span<const std::uint32_t> candidates, const Sensitive<ScoreList, Linf>& scores);

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

// The same over pairs of candidates with opposite scores: candidate 2i has the score s_i, candidate 2i + 1 has -s_i.
class SignedBoard {
 public:
  static Result<SignedBoard> open(Gate& gate, const ScoreBoard::Settings& settings, std::size_t pairs);

  Result<void> set_all(const Sensitive<ScoreList, Linf>& scores);  // first, before any other
  Result<void> set(std::size_t pair, const Sensitive<double, Linf>& score);
  Result<void> set_some(std::span<const std::uint32_t> pairs, const Sensitive<ScoreList, Linf>& scores);
  Result<Released<std::size_t>> select();

 private:
  SignedBoard(Gate& gate, const ScoreBoard::Settings& settings, std::size_t pairs)
      : gate_(&gate), settings_(settings), sizes_(pairs), negative_(pairs) {}

  Gate* gate_;
  ScoreBoard::Settings settings_;
  std::vector<double> sizes_;  // scratch of set_all and set_some
  std::vector<char> negative_;
  std::optional<ExponentialTree> tree_;  // over |s_i|
};

// The same when all scores change with every step, each staying below a ceiling for a while (residual_sums.h): the
// board holds the ceilings, and a draw is by the scores that it is told. The first ceilings come all at once.
class ShrinkingBoard {
 public:
  static Result<ShrinkingBoard> open(Gate& gate, const ScoreBoard::Settings& settings, std::size_t pairs);

  Result<void> set_ceilings(const Sensitive<ScoreList, Linf>& ceilings);
  Result<void> set_some(std::span<const std::uint32_t> pairs, const Sensitive<ScoreList, Linf>& ceilings);

  // A draw counts against the plan when it is first attempted. Where the answer is empty the ceilings are too high to
  // draw by them: set lower ones and ask again, for the same draw.
  template <class ScoreOf>
  Result<std::optional<Released<std::size_t>>> select(const ScoreOf& score_of);

 private:
  static constexpr int kAttempts = 64;
  ShrinkingBoard(Gate& gate, const ScoreBoard::Settings& settings, std::size_t pairs)
      : gate_(&gate), settings_(settings), pairs_(pairs) {}
  Result<void> check(const Sensitive<double, Linf>& score) const;
  Result<void> pay();
  [[nodiscard]] bool replays() const;
  Result<Released<std::size_t>> release(std::size_t candidate);

  Gate* gate_;
  ScoreBoard::Settings settings_;
  std::size_t pairs_;
  std::vector<double> raised_;  // scratch: ceilings and a grain
  std::optional<ExponentialTree> tree_;
  bool paid_ = false;  // for the draw that is under way
};

template <class ScoreOf>
Result<std::optional<Released<std::size_t>>> ShrinkingBoard::select(const ScoreOf& score_of) {
  PARLEY_CHECK(pay());
  std::size_t candidate = 0;
  if (!replays()) {
    bool negative = false;
    Result<void> told;
    const auto size_of = [&](std::size_t pair) {
      const Sensitive<double, Linf> score = score_of(pair);
      told = check(score);
      negative = score.value_ < 0;
      return told ? std::abs(score.value_) : std::numeric_limits<double>::quiet_NaN();
    };
    PARLEY_TRY(const std::optional<ExponentialTree::Side> side,
               drawn([&] { return tree_->select_below_ceilings(*gate_->bits(), kAttempts, size_of); }));
    if (!side) return std::optional<Released<std::size_t>>();
    candidate = 2 * side->index + (negative == side->with ? 1 : 0);
  }
  paid_ = false;
  PARLEY_TRY(const Released<std::size_t> chosen, release(candidate));
  return std::optional<Released<std::size_t>>(chosen);
}

}  // namespace parley::privacy
