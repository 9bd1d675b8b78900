#include "parley/algorithms/sgd.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "parley/algorithms/exact.h"
#include "parley/algorithms/sgd_gradient.h"
#include "parley/algorithms/sgd_plan.h"
#include "parley/glm/penalties.h"
#include "parley/glm/sets.h"
#include "parley/privacy/mechanisms/poisson_sampling.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::algorithms {

namespace {

constexpr int kReports = 50;  // objectives are full passes: a run shows this many

// The iterate and everything that happens to it after a sum was released.
class Iterate {
 public:
  Iterate(const Problem& problem, const BatchDerivatives& shape, const SgdPlan& plan, SgdResult result)
      : problem_(problem),
        width_(shape.width()),
        columns_(static_cast<std::size_t>(problem.features.cols())),
        plan_(plan),
        averaged_from_(result == SgdResult::kTailAverage ? plan.steps / 2 : plan.steps),
        weights_(shape.coordinates()),
        previous_(shape.coordinates()) {
    if (averaged_from_ < plan.steps) sum_.resize(shape.coordinates());
  }

  [[nodiscard]] std::span<const double> weights() const { return weights_; }

  // W <- project(prox(W - h sum / (q n) + beta (W - W_before)))
  void move(std::span<const double> sum) {
    const double factor = plan_.step / (plan_.rate * static_cast<double>(problem_.labels.size()));
    const glm::Penalty penalty = penalty_of(problem_.objective);
    const bool penalised = penalty.l1 > 0 || penalty.l2 > 0;
    for (std::size_t c = 0; c < weights_.size(); ++c) {
      const double moved = weights_[c] - factor * sum[c] + plan_.momentum * (weights_[c] - previous_[c]);
      previous_[c] = weights_[c];
      weights_[c] = penalised && !is_free(c) ? penalty.prox(plan_.step, moved) : moved;
    }
    project();
    ++moves_;
    if (moves_ > averaged_from_)
      for (std::size_t c = 0; c < sum_.size(); ++c) sum_[c] += weights_[c];
  }

  // The model after the moves so far.
  void finish(Fit& fit) {
    if (moves_ > averaged_from_ && !sum_.empty()) {
      for (std::size_t c = 0; c < sum_.size(); ++c) weights_[c] = sum_[c] / (moves_ - averaged_from_);
      project();
    }
    fit.weights.clear();
    fit.intercepts.clear();
    for (std::size_t c = 0; c < weights_.size(); ++c)
      (c % width_ < columns_ ? fit.weights : fit.intercepts).push_back(weights_[c]);
    fit.iterations = moves_;
    fit.objective =
        evaluate(problem_.objective, problem_.features, problem_.labels, fit.weights, fit.intercepts);
  }

  // F at the present iterate.
  [[nodiscard]] double objective() const {
    Iterate copy = *this;
    copy.sum_.clear();
    Fit fit;
    copy.finish(fit);
    return fit.objective;
  }

 private:
  [[nodiscard]] bool is_free(std::size_t coordinate) const {
    return coordinate % width_ == columns_ && problem_.objective.intercept == glm::Intercept::kFree;
  }

  void project() {
    const glm::Objective& objective = problem_.objective;
    if (!objective.l1_radius && !objective.sparsity) return;
    std::vector<double> counted;
    for (std::size_t c = 0; c < weights_.size(); ++c)
      if (!is_free(c)) counted.push_back(weights_[c]);
    if (objective.l1_radius) glm::L1Ball{*objective.l1_radius}.project(counted);
    if (objective.sparsity)
      glm::SparseSet{static_cast<std::size_t>(*objective.sparsity),
                     static_cast<std::size_t>(objective.classes)}
          .project(counted);
    auto next = counted.begin();
    for (std::size_t c = 0; c < weights_.size(); ++c)
      if (!is_free(c)) weights_[c] = *next++;
  }

  const Problem& problem_;
  std::size_t width_;
  std::size_t columns_;
  SgdPlan plan_;
  int averaged_from_;
  int moves_ = 0;
  std::vector<double> weights_;
  std::vector<double> previous_;
  std::vector<double> sum_;  // of the iterates that are averaged
};

double largest_row_norm(const Problem& problem) {
  double largest = 0;
  for (const double squares : problem.features.row_squared_norms()) largest = std::max(largest, squares);
  return std::sqrt(largest + (problem.objective.intercept == glm::Intercept::kNone ? 0.0 : 1.0));
}

}  // namespace

Result<Fit> sgd(const Problem& problem, const SgdSettings& settings, const Observer& observer) {
  PARLEY_CHECK(check(problem, ExactSettings{}));  // what every single-site trainer asks of its problem
  const SgdShape shape{.records = static_cast<double>(problem.labels.size()),
                       .row_norm = largest_row_norm(problem),
                       .curvature = glm::curvature_bound(problem.objective.task)};
  if (!std::isfinite(shape.row_norm)) return fail(bad_input({.field = "features"}, "must be finite numbers"));
  PARLEY_TRY(const SgdPlan plan, sgd_plan(shape, settings));
  PARLEY_TRY(const privacy::PoissonSampling sampling, privacy::PoissonSampling::make(plan.rate));
  privacy::SeededGenerator root(settings.seed);
  PARLEY_TRY(const std::unique_ptr<privacy::Bits> bits, root.fork("sampling"));

  BatchDerivatives derivatives(problem);
  PlainBatchSum batch_sum(problem, derivatives, plan.clip);
  Iterate iterate(problem, derivatives, plan, settings.result);
  Fit fit{.gap = std::numeric_limits<double>::quiet_NaN(), .stop = Stop::kIterations};
  const int between_reports = std::max(1, plan.steps / kReports);
  std::vector<std::size_t> records;
  for (int t = 1; t <= plan.steps; ++t) {
    sampling.draw(problem.labels.size(), *bits, records);
    iterate.move(batch_sum.sum(records, derivatives.at(iterate.weights(), records)));
    if (!observer || t % between_reports != 0) continue;
    fit.history.push_back(iterate.objective());
    if (!observer({t, fit.history.back(), fit.gap, plan.steps}) && t < plan.steps) {
      fit.stop = Stop::kInterrupted;
      break;
    }
  }
  iterate.finish(fit);
  return fit;
}

}  // namespace parley::algorithms
