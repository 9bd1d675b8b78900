// The part of greedy coordinate descent that looks at the data: it ranks coordinates by their scores, selects one, and
// tells its partial derivative. OpenSite tells the exact values; GatedSite answers through the gate, with noise.
#pragma once
#include <cstddef>
#include <optional>

#include "parley/algorithms/coordinate/greedy_cd_noise.h"
#include "parley/algorithms/coordinate/largest_score.h"
#include "parley/algorithms/parts/kept_margins.h"
#include "parley/algorithms/parts/smoothness.h"
#include "parley/core/result.h"
#include "parley/privacy/score_board.h"
#include "parley/privacy/sensitivity/exact_sums.h"
#include "parley/privacy/sensitivity/greedy_scores.h"

namespace parley::algorithms {

using privacy::GreedyScores;

class OpenSite {
 public:
  explicit OpenSite(const Problem& problem) : sums_(problem), largest_(sums_.coordinates()) {}

  PlainSums& sums() { return sums_; }
  Result<void> rank(std::size_t coordinate, const GreedyScores& scores) {
    largest_.update(coordinate, scores.score(coordinate, sums_.gradient(coordinate)));
    return {};
  }
  Result<void> rank_all(const GreedyScores& scores) {
    for (std::size_t c = 0; c < sums_.coordinates(); ++c) PARLEY_CHECK(rank(c, scores));
    return {};
  }
  Result<void> rank_touched(const GreedyScores& scores) {
    for (const std::uint32_t c : sums_.touched()) PARLEY_CHECK(rank(c, scores));
    sums_.forget_touched();
    return {};
  }
  Result<std::size_t> select(const GreedyScores&) { return largest_.select(); }
  [[nodiscard]] Result<double> partial(std::size_t coordinate) const { return sums_.gradient(coordinate); }

  // How much the best step promises to take off the objective.
  [[nodiscard]] double best_promise() {
    const double score = largest_[largest_.select()];
    return 0.5 * score * score;
  }

 private:
  PlainSums sums_;
  LargestScore largest_;
};

class GatedSite {
 public:
  // Calibrates and charges the whole run: at most `steps` steps, as many as the budget holds, and what it
  // releases before them.
  static Result<GatedSite> reserve(const Problem& problem, std::int64_t steps, std::optional<double> share,
                                   const std::optional<SmoothnessRelease>& smoothness);
  // Before the first ranking, once the scores' parameters are known.
  Result<void> rank_by(const GreedyScores& scores);

  privacy::ExactSums& sums() { return sums_; }
  Result<void> rank(std::size_t coordinate, const GreedyScores& scores) {
    if (noise_.noisy_max) return {};  // which looks at all scores every time
    return board_->set(coordinate, sums_.score(scores, coordinate));
  }
  Result<void> rank_all(const GreedyScores& scores) {
    if (noise_.noisy_max) return {};
    return board_->set_all(sums_.scores(scores));
  }
  Result<void> rank_touched(const GreedyScores& scores) {
    if (!noise_.noisy_max) PARLEY_CHECK(board_->set_some(sums_.touched(), sums_.scores_of(scores, sums_.touched())));
    sums_.forget_touched();
    return {};
  }
  Result<std::size_t> select(const GreedyScores& scores);
  Result<double> partial(std::size_t coordinate);

  [[nodiscard]] std::int64_t steps() const { return steps_; }  // that were paid for
  // Weights are held to this size, so that rounding stays inside the room that the sensitivities have for it.
  [[nodiscard]] double largest_weight(const GreedyScores& scores) const;

 private:
  GatedSite(privacy::Gate& gate, privacy::ExactSums sums) : gate_(&gate), sums_(std::move(sums)) {}

  privacy::Gate* gate_;
  privacy::ExactSums sums_;
  GreedyNoise noise_;
  std::optional<privacy::ScoreBoard> board_;
  std::int64_t steps_ = 0;
};

}  // namespace parley::algorithms
