#include "parley/algorithms/frank_wolfe_private.h"

#include <cmath>
#include <limits>

#include "parley/algorithms/frank_wolfe_iterate.h"
#include "parley/algorithms/kept_margins.h"
#include "parley/algorithms/private_steps.h"
#include "parley/privacy/accounting/calibration.h"
#include "parley/privacy/score_board.h"

namespace parley::algorithms {

using privacy::Epsilon;
using privacy::ExactSums;
using privacy::VertexRule;

namespace {

constexpr double kDrop = 0.1;
constexpr double kSignal = 0.3;  // private_steps.h

// What a selection costs.
Result<double> selection_cost(const PrivateTerms& terms, std::int64_t steps) {
  if (terms.calibration == Calibration::kProved) return privacy::selection_epsilon(terms.target, steps);
  // Talwar et al.: Laplace scale R sqrt(8 T ln(1/delta)) / (n epsilon) on every score. Scores have sensitivity D = 2R/n, and
  // report-noisy-max at scale b costs 2D/b: twice what a count of one record instead of two makes of it.
  return 4 * terms.target.epsilon.value() /
         std::sqrt(8 * static_cast<double>(steps) * std::log(1 / terms.target.delta.value()));
}

// Chooses vertices through the gate.
class GatedVertices {
 public:
  static Result<GatedVertices> open(const Problem& problem, std::int64_t steps) {
    const PrivateTerms& terms = *problem.privacy;
    PARLEY_TRY(ExactSums sums, exact_sums_of(problem));
    PARLEY_TRY(const double cost, selection_cost(terms, steps));
    PARLEY_TRY(const Epsilon epsilon, Epsilon::make(cost));
    GatedVertices vertices(*terms.gate, std::move(sums), epsilon);
    const bool paper = terms.calibration == Calibration::kPaper;
    const privacy::Mechanism selection =
        paper ? privacy::Mechanism{privacy::Pure{cost}} : privacy::Mechanism{privacy::Exponential{cost}};
    PARLEY_TRY(vertices.steps_, terms.gate->reserve({.step = {{selection, 1}}, .steps = steps}, terms.target.delta));
    if (!paper) {
      PARLEY_TRY(vertices.board_,
                 privacy::ScoreBoard::open(*terms.gate, {epsilon, vertices.sums_.score_sensitivity(VertexRule{})},
                                           2 * vertices.sums_.coordinates()));
    }
    return vertices;
  }

  ExactSums& sums() { return sums_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }  // that were paid for

  Result<void> rank(std::size_t coordinate, const VertexRule& rule) {
    if (!board_) return {};  // report-noisy-max looks at all scores every time
    PARLEY_CHECK(board_->set(2 * coordinate, sums_.score(rule, 2 * coordinate)));
    return board_->set(2 * coordinate + 1, sums_.score(rule, 2 * coordinate + 1));
  }
  Result<void> rank_all(const VertexRule& rule) {
    for (std::size_t c = 0; c < sums_.coordinates(); ++c) PARLEY_CHECK(rank(c, rule));
    return {};
  }
  Result<void> rank_touched(const VertexRule& rule) {
    for (const std::uint32_t c : sums_.touched()) PARLEY_CHECK(rank(c, rule));
    sums_.forget_touched();
    return {};
  }

  Result<glm::Vertex> select(const VertexRule& rule, double radius) {
    auto chosen = board_ ? board_->select() : gate_->noisy_max(sums_.scores(rule), epsilon_);
    if (!chosen) return fail(std::move(chosen).error());
    return glm::Vertex{chosen->value() / 2, chosen->value() % 2 == 0 ? radius : -radius};
  }

 private:
  GatedVertices(privacy::Gate& gate, ExactSums sums, Epsilon epsilon)
      : gate_(&gate), sums_(std::move(sums)), epsilon_(epsilon) {}

  privacy::Gate* gate_;
  ExactSums sums_;
  Epsilon epsilon_;
  std::optional<privacy::ScoreBoard> board_;
  std::int64_t steps_ = 0;
};

// The gradient of l2/2 ||W||^2, which is public like W itself.
class PenaltyGradient {
 public:
  PenaltyGradient(double l2, std::size_t coordinates) : l2_(l2), values_(l2 > 0 ? coordinates : 0) {}

  void follow(const ScaledWeights& weights, std::size_t added) {
    if (l2_ == 0) return;
    if (values_[added] == 0) support_.push_back(added);
    for (const std::size_t c : support_) values_[c] = l2_ * weights[c];
  }
  [[nodiscard]] VertexRule rule() const { return {values_}; }
  [[nodiscard]] std::span<const std::size_t> support() const { return support_; }

 private:
  double l2_;
  std::vector<double> values_;
  std::vector<std::size_t> support_;
};

}  // namespace

bool refresh_due(int t, int last) {
  const auto scale = [](int step) { return 2.0 / ((step + 1.0) * (step + 2.0)); };
  return scale(t) <= (1 - kDrop) * scale(last);
}

Result<Fit> frank_wolfe_private(const Problem& problem, const FrankWolfeSettings& settings, const Observer& observer) {
  const double radius = *problem.objective.l1_radius;
  const auto records = static_cast<double>(problem.labels.size());
  const bool lazy = settings.mode != FrankWolfeMode::kPlain;
  KeptMargins margins(problem, lazy ? Upkeep::kAutomatic : Upkeep::kPass);
  const std::int64_t asked =
      settings.iterations ? *settings.iterations
                          : steps_within_signal(problem.privacy->target, records, 2 * margins.coordinates(),
                                                {.signal = kSignal});
  PARLEY_TRY(GatedVertices vertices, GatedVertices::open(problem, asked));
  ScaledWeights weights(margins.coordinates());
  PenaltyGradient penalty(problem.objective.l2, margins.coordinates());
  margins.refresh(vertices.sums());
  PARLEY_CHECK(vertices.rank_all(penalty.rule()));

  Fit fit{.stop = vertices.steps() < asked ? Stop::kBudgetEnded : Stop::kIterations};
  fit.gap = std::numeric_limits<double>::quiet_NaN();
  for (int t = 0, refreshed = 0; t < vertices.steps(); ++t) {
    PARLEY_TRY(const glm::Vertex vertex, vertices.select(penalty.rule(), radius));
    const auto [fold, added] = weights.move(vertex, 2.0 / (t + 2.0));
    penalty.follow(weights, vertex.coordinate);
    if (!lazy || refresh_due(t, refreshed)) {
      margins.shrink_add_and_refresh(fold, weights.scale(), vertex.coordinate, added, vertices.sums());
      refreshed = t;
      PARLEY_CHECK(vertices.rank_all(penalty.rule()));
    } else if (margins.shrink_and_add(fold, weights.scale(), vertex.coordinate, added, vertices.sums()) == Changed::kAll) {
      PARLEY_CHECK(vertices.rank_all(penalty.rule()));
    } else {
      PARLEY_CHECK(vertices.rank_touched(penalty.rule()));
      for (const std::size_t c : penalty.support()) PARLEY_CHECK(vertices.rank(c, penalty.rule()));
    }
    fit.iterations = t + 1;
    // In between refreshes the loss is that of the rows as they were last seen.
    fit.history.push_back(margins.mean_loss() + 0.5 * problem.objective.l2 * weights.squared_norm());
    if (observer && !observer({fit.iterations, fit.history.back(), fit.gap, static_cast<int>(vertices.steps())})) {
      fit.stop = Stop::kInterrupted;
      break;
    }
  }
  fit.releases = problem.privacy->gate->releases();
  split_coordinates(weights, static_cast<std::size_t>(problem.features.cols()),
                    margins.coordinates() != static_cast<std::size_t>(problem.features.cols() * problem.objective.classes), fit);
  fit.objective = glm::evaluate(problem.objective, problem.features, problem.labels, fit.weights, fit.intercepts);
  if (!fit.history.empty()) fit.history.back() = fit.objective;
  return fit;
}

}  // namespace parley::algorithms
