// Private Frank-Wolfe's eyes for any loss: derivatives of records, clipped, pushed through the rows that a step
// touched.
#include <optional>

#include "parley/algorithms/frank_wolfe/frank_wolfe_private.h"
#include "parley/algorithms/frank_wolfe/frank_wolfe_vertices.h"
#include "parley/algorithms/parts/kept_margins.h"
#include "parley/algorithms/parts/private_steps.h"
#include "parley/privacy/score_board.h"

namespace parley::algorithms {

using privacy::DescentRule;
using privacy::ExactSums;
using privacy::VertexRule;

namespace {

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

class MarginVertices final : public PrivateVertices {
 public:
  MarginVertices(const Problem& problem, const FrankWolfeSettings& settings, const VertexPlan& plan, ExactSums sums)
      : problem_(problem),
        plan_(plan),
        // Least squares promises the plain mode's iterates, so nothing may go stale.
        lazy_(settings.mode != FrankWolfeMode::kPlain && problem.objective.task != glm::Task::kLinear),
        margins_(problem, lazy_ ? Upkeep::kAutomatic : Upkeep::kPass),
        sums_(std::move(sums)),
        penalty_(problem.objective.l2, sums_.coordinates()) {}

  Result<void> open() {
    if (problem_.privacy->calibration == privacy::Calibration::kProved) {
      PARLEY_TRY(board_, privacy::SignedBoard::open(*problem_.privacy->gate,
                                                    {plan_.epsilon, sums_.score_sensitivity(DescentRule{})},
                                                    sums_.coordinates()));
    }
    margins_.refresh(sums_);
    return rank_all();
  }

  Result<glm::Vertex> select() override {
    auto chosen =
        board_ ? board_->select()
               : problem_.privacy->gate->release(sums_.scores(penalty_.rule()), privacy::ByNoisyMax{plan_.epsilon});
    if (!chosen) return fail(std::move(chosen).error());
    const double radius = *problem_.objective.l1_radius;
    return glm::Vertex{chosen->value() / 2, chosen->value() % 2 == 0 ? radius : -radius};
  }

  Result<void> follow(const ScaledWeights& weights, const ScaledWeights::Change& change, std::size_t coordinate,
                      int t) override {
    penalty_.follow(weights, coordinate);
    penalties_ = 0.5 * problem_.objective.l2 * weights.squared_norm();
    const bool due = !lazy_ || refresh_due(t, refreshed_);
    if (due) refreshed_ = t;
    const Changed changed =
        due ? margins_.shrink_add_and_refresh(change.fold, weights.scale(), coordinate, change.added, sums_)
            : margins_.shrink_and_add(change.fold, weights.scale(), coordinate, change.added, sums_);
    if (changed == Changed::kAll) return rank_all();
    if (board_)
      PARLEY_CHECK(board_->set_some(sums_.touched(), sums_.scores_of(DescentRule{penalty_.rule()}, sums_.touched())));
    for (const std::size_t c : penalty_.support()) PARLEY_CHECK(rank(c));
    sums_.forget_touched();
    return {};
  }

  // In between refreshes the loss is that of the rows as they were last seen.
  double objective() override { return margins_.mean_loss() + penalties_; }

 private:
  // Report-noisy-max looks at all scores every time; the board is told those that changed.
  Result<void> rank(std::size_t c) {
    if (!board_) return {};
    return board_->set(c, sums_.score(DescentRule{penalty_.rule()}, c));
  }
  Result<void> rank_all() {
    if (!board_) return {};
    return board_->set_all(sums_.scores(DescentRule{penalty_.rule()}));
  }

  const Problem& problem_;
  const VertexPlan plan_;
  const bool lazy_;
  KeptMargins margins_;
  ExactSums sums_;
  PenaltyGradient penalty_;
  std::optional<privacy::SignedBoard> board_;
  int refreshed_ = 0;
  double penalties_ = 0;
};

}  // namespace

Result<std::unique_ptr<PrivateVertices>> margin_vertices(const Problem& problem, const FrankWolfeSettings& settings,
                                                         const VertexPlan& plan) {
  PARLEY_TRY(ExactSums sums, exact_sums_of(problem));
  auto vertices = std::make_unique<MarginVertices>(problem, settings, plan, std::move(sums));
  PARLEY_CHECK(vertices->open());
  return vertices;
}

}  // namespace parley::algorithms
