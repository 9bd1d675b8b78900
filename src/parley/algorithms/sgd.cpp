#include "parley/algorithms/sgd.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "parley/algorithms/exact.h"
#include "parley/algorithms/private_terms.h"
#include "parley/algorithms/private_way.h"
#include "parley/algorithms/sgd_gradient.h"
#include "parley/algorithms/sgd_plan.h"
#include "parley/algorithms/sgd_sites.h"
#include "parley/glm/penalties.h"
#include "parley/glm/sets.h"

namespace parley::algorithms {

namespace {

constexpr int kReports = 50;  // objectives are full passes: a run shows this many

// The iterate and everything that happens to it after a sum was released.
class Iterate {
 public:
  Iterate(const Problem& problem, const BatchDerivatives& shape, const SgdPlan& plan)
      : problem_(problem),
        width_(shape.width()),
        columns_(static_cast<std::size_t>(problem.features.cols())),
        plan_(plan),
        averaged_from_(plan.result == SgdResult::kTailAverage ? plan.steps / 2 : plan.steps),
        weights_(shape.coordinates()),
        previous_(shape.coordinates()) {
    if (averaged_from_ < plan.steps) sum_.resize(shape.coordinates());
  }

  [[nodiscard]] std::span<const double> weights() const { return weights_; }

  // W <- project(prox(W - h sum / (q n) + beta (W - W_before)))
  void move(std::span<const double> sum) {
    const double factor = plan_.step / (plan_.rate * plan_.records);
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
  [[nodiscard]] std::vector<double> model() {
    if (moves_ <= averaged_from_ || sum_.empty()) return weights_;
    std::vector<double> last = weights_;
    for (std::size_t c = 0; c < sum_.size(); ++c) weights_[c] = sum_[c] / (moves_ - averaged_from_);
    project();
    last.swap(weights_);
    return last;
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
      glm::SparseSet{static_cast<std::size_t>(*objective.sparsity), static_cast<std::size_t>(objective.classes)}.project(counted);
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

// Weights and intercepts as Fit holds them, and the objective there.
void split(const Problem& problem, std::span<const double> coordinates, Fit& fit) {
  const auto columns = static_cast<std::size_t>(problem.features.cols());
  const std::size_t width = coordinates.size() / static_cast<std::size_t>(problem.objective.classes);
  fit.weights.clear();
  fit.intercepts.clear();
  for (std::size_t c = 0; c < coordinates.size(); ++c) (c % width < columns ? fit.weights : fit.intercepts).push_back(coordinates[c]);
  fit.objective = evaluate(problem.objective, problem.features, problem.labels, fit.weights, fit.intercepts);
}

// Tells the observer how a run goes. An objective is a full pass, so a run shows kReports of them, and none
// to nobody.
class Report final : public LinearWatch {
 public:
  Report(const Problem& problem, const Observer& observer, int steps, Fit& fit)
      : problem_(problem), observer_(observer), steps_(steps), fit_(fit) {}

  [[nodiscard]] bool wants(int step) const override { return observer_ && step % std::max(1, steps_ / kReports) == 0; }
  bool see(int step, std::span<const double> weights) override {
    Fit present;
    split(problem_, weights, present);
    fit_.history.push_back(present.objective);
    return observer_({step, present.objective, fit_.gap, steps_});
  }

 private:
  const Problem& problem_;
  const Observer& observer_;
  int steps_;
  Fit& fit_;
};

Result<void> check_private(const Problem& problem) {
  if (problem.objective.intercept == glm::Intercept::kFree)
    return fail(bad_input({.field = "model.intercept"}, "a private run takes a penalised intercept (a column of ones) or none"));
  if (problem.privacy->calibration != Calibration::kProved || problem.privacy->smoothness != Smoothness::kBounds)
    return fail(bad_input({.field = "privacy"}, "sgd takes calibration = \"proved\" and smoothness = \"bounds\""));
  return {};
}

// The norm of a record's derivative at W = 0, at most.
double derivative_at_zero(const Problem& problem, const PrivateTerms& terms) {
  switch (problem.objective.task) {
    case glm::Task::kLinear:
      return terms.label_bound;
    case glm::Task::kLogistic:
      return 0.5;
    case glm::Task::kSquaredHinge:
      return 2;
    case glm::Task::kSoftmax:
      return std::sqrt(1 - 1.0 / problem.objective.classes);
  }
  return 1;
}

// Of the data in the open, of public numbers under privacy.
SgdShape shape_of(const Problem& problem) {
  const double constant = problem.objective.intercept == glm::Intercept::kNone ? 0.0 : 1.0;
  SgdShape shape{.records = static_cast<double>(problem.labels.size()), .curvature = glm::curvature_bound(problem.objective.task)};
  if (problem.privacy == nullptr) {
    const std::vector<double> squares = problem.features.row_squared_norms();
    shape.row_norm = std::sqrt(*std::max_element(squares.begin(), squares.end()) + constant);
    return shape;
  }
  const PrivateTerms& terms = *problem.privacy;
  shape.records = terms.records();
  shape.row_norm = std::sqrt(terms.row_bound * terms.row_bound + constant);
  shape.target = terms.target;
  shape.derivative_bound = std::min(terms.derivative_bound, derivative_at_zero(problem, terms));
  shape.margin_scale = problem.objective.task == glm::Task::kLinear ? terms.label_bound : 1.0;
  shape.coordinates = problem.objective.classes * (static_cast<double>(problem.features.cols()) + constant);
  shape.total_curvature = total_curvature(problem.objective);
  shape.l1 = problem.objective.l1;
  shape.l2 = problem.objective.l2;
  shape.loss_of_nothing = loss_of_nothing(problem.objective, terms.label_bound);
  return shape;
}

}  // namespace

Result<Fit> sgd(const Problem& problem, const SgdSettings& settings, const Observer& observer) {
  PARLEY_CHECK(check(problem, ExactSettings{}));  // what every single-site trainer asks of its problem
  if (problem.privacy != nullptr) PARLEY_CHECK(check_private(problem));
  const SgdShape shape = shape_of(problem);
  if (!std::isfinite(shape.row_norm)) return fail(bad_input({.field = "features"}, "must be finite numbers"));
  PARLEY_TRY(const SgdPlan plan, sgd_plan(shape, settings));
  BatchDerivatives derivatives(problem);
  Fit fit{.gap = std::numeric_limits<double>::quiet_NaN()};
  Report report(problem, observer, plan.steps, fit);
  int allowed = 0;
  if (problem.privacy != nullptr && is_linear(problem, plan)) {
    PARLEY_TRY(const LinearOutcome outcome, descend_linearly(problem, derivatives, plan, report));
    allowed = outcome.allowed;
    fit.iterations = outcome.steps;
    split(problem, outcome.weights, fit);
  } else {
    PARLEY_TRY(const std::unique_ptr<SgdSite> site, problem.privacy == nullptr ? open_site(problem, derivatives, plan, settings.seed)
                                                                               : private_site(problem, derivatives, plan));
    allowed = site->steps();
    Iterate iterate(problem, derivatives, plan);
    for (bool wanted = true; wanted && fit.iterations < allowed;) {
      PARLEY_TRY(const std::span<const double> sum, site->sum(iterate.weights()));
      iterate.move(sum);
      if (report.wants(++fit.iterations)) wanted = report.see(fit.iterations, iterate.weights());
    }
    split(problem, iterate.model(), fit);
  }
  fit.stop = fit.iterations < allowed ? Stop::kInterrupted : allowed < plan.steps ? Stop::kBudgetEnded : Stop::kIterations;
  if (problem.privacy != nullptr) fit.releases = fit.iterations;
  return fit;
}

}  // namespace parley::algorithms
