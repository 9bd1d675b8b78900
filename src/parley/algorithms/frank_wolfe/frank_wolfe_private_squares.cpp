// Private Frank-Wolfe's eyes for least squares. Gradients are s a - b with a shared scale s that falls with every step,
// so all scores move all the time. The board holds ceilings for a window of scales [share * s, s]; a draw by ceilings
// is kept or repeated so that it follows the exact scores. A window is left when s is, and made narrower when draws are
// repeated too often, down to ceilings that are the scores themselves.
#include <algorithm>
#include <cmath>
#include <limits>

#include "parley/algorithms/frank_wolfe/frank_wolfe_vertices.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/privacy/score_board.h"
#include "parley/privacy/sensitivity/residual_sums.h"

namespace parley::algorithms {

using privacy::Released;
using privacy::ResidualSettings;
using privacy::ResidualSums;
using privacy::ShrinkingBoard;

namespace {

constexpr double kWidest = 0.0625;
constexpr double kNarrow = 0.99;  // beyond it a window is one scale

ResidualSettings residual_settings(const Problem& problem) {
  return {.radius = *problem.objective.l1_radius,
          .label_bound = problem.privacy->label_bound,
          .l2 = problem.objective.l2,
          .neighbours = problem.privacy->target.neighbours,
          .unit = problem.privacy->unit};
}

class ResidualVertices final : public PrivateVertices {
 public:
  ResidualVertices(const Problem& problem, ResidualSums sums, ShrinkingBoard board)
      : problem_(problem), sums_(std::move(sums)), board_(std::move(board)) {}

  Result<void> open_window() {
    low_ = share_ < 1 ? share_ * scale_ : scale_;
    high_ = scale_;
    // The ceilings of the others are 0 since the first window.
    if (opened_ && 2 * sums_.live().size() < sums_.coordinates())
      return board_.set_some(sums_.live(), sums_.ceilings_of(sums_.live(), low_, high_));
    opened_ = true;
    return board_.set_ceilings(sums_.ceilings(low_, high_));
  }

  Result<glm::Vertex> select() override {
    for (;;) {
      PARLEY_TRY(const std::optional<Released<std::size_t>> chosen,
                 board_.select([this](std::size_t c) { return sums_.score(c, scale_); }));
      if (chosen) {
        const double radius = *problem_.objective.l1_radius;
        return glm::Vertex{chosen->value() / 2, chosen->value() % 2 == 0 ? radius : -radius};
      }
      share_ = std::sqrt(share_) < kNarrow ? std::sqrt(share_) : 1.0;
      PARLEY_CHECK(open_window());
    }
  }

  Result<void> follow(const ScaledWeights& weights, const ScaledWeights::Change& change, std::size_t coordinate,
                      int t) override {
    scale_ = weights.scale();
    if (change.fold != 1) sums_.fold(change.fold);
    sums_.add(coordinate, change.added);
    const bool due = change.fold != 1 || sums_.all_touched() || scale_ < low_ || scale_ > high_;
    chosen_.push_back(coordinate);
    if (t + 1 >= 4 * evaluated_) {
      evaluated_ = t + 1;
      objective_ = evaluate(weights);
    }
    if (due) return open_window();
    return board_.set_some(sums_.touched(), sums_.ceilings_of(sums_.touched(), low_, high_));
  }

  double objective() override { return objective_; }

 private:
  // From the columns that were chosen: the others have no weight.
  double evaluate(const ScaledWeights& weights) {
    std::sort(chosen_.begin(), chosen_.end());
    chosen_.erase(std::unique(chosen_.begin(), chosen_.end()), chosen_.end());
    std::vector<double> margins(problem_.labels.size()), nonzeros;
    for (const std::size_t c : chosen_) {
      nonzeros.push_back(weights[c]);
      problem_.features.column_axpy(static_cast<linalg::Index>(c), nonzeros.back(), margins);
    }
    return glm::evaluate(problem_.objective, margins, problem_.labels, nonzeros, {});
  }

  const Problem& problem_;
  ResidualSums sums_;
  ShrinkingBoard board_;
  bool opened_ = false;
  double share_ = kWidest;
  double scale_ = 1, low_ = 1, high_ = 1;
  std::vector<std::size_t> chosen_;
  double objective_ = std::numeric_limits<double>::quiet_NaN();
  int evaluated_ = 0;  // the last step whose objective is known; known after 1, 4, 16, ... steps
};

}  // namespace

bool residuals_need_no_clip(const Problem& problem) {
  return problem.objective.task == glm::Task::kLinear && problem.objective.intercept == glm::Intercept::kNone &&
         problem.privacy->calibration == privacy::Calibration::kProved &&
         problem.privacy->derivative_bound >=
             ResidualSums::residual_bound(*problem.privacy->features, residual_settings(problem));
}

Result<std::unique_ptr<PrivateVertices>> residual_vertices(const Problem& problem, const FrankWolfeSettings& settings,
                                                           const VertexPlan& plan) {
  ResidualSettings residual = residual_settings(problem);
  residual.steps = plan.steps;
  residual.cache_bytes = settings.gram_cache_bytes;
  PARLEY_TRY(ResidualSums sums, ResidualSums::make(*problem.privacy->features, problem.labels, residual));
  PARLEY_TRY(ShrinkingBoard board, ShrinkingBoard::open(*problem.privacy->gate,
                                                        {plan.epsilon, sums.score_sensitivity()}, sums.coordinates()));
  auto vertices = std::make_unique<ResidualVertices>(problem, std::move(sums), std::move(board));
  PARLEY_CHECK(vertices->open_window());
  return vertices;
}

}  // namespace parley::algorithms
