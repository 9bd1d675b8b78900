#include "parley/algorithms/exact/warm_newton.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "parley/algorithms/horizontal/local_steps.h"
#include "parley/algorithms/horizontal/newton_direction.h"
#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/parts/recorder.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

constexpr double kSufficient = 1e-4;     // share of the promised decrease
constexpr double kSmallestStep = 1e-9;   // t
constexpr double kGoodEnough = 1.0 / 3;  // of the violation before: an old H still serves
// Rounding may end progress before the tolerance is reached; this near it is an optimum all the same.
constexpr double kResolved = 1e-7;

Error no_minimum() {
  return bad_input({.field = "model.l2"},
                   "the classes can be separated by a linear rule, so without a penalty the loss has no "
                   "minimum; set l2 > 0 or l1 > 0",
                   "0");
}

}  // namespace

WarmNewton::WarmNewton(const Problem& problem)
    : problem_(&problem),
      share_{.features = problem.features,
             .labels = {problem.labels.begin(), problem.labels.end()},
             .weights = {problem.weights.begin(), problem.weights.end()}},
      records_(static_cast<double>(problem.labels.size())),
      parameters_(parameter_count(problem.objective, static_cast<std::size_t>(problem.features.cols())), 0.0) {}

Result<WarmNewton> WarmNewton::make(const Problem& problem) {
  WarmNewton newton(problem);
  PARLEY_CHECK(require(
      newton.parameters_.size() <= kMostWarmParameters, "features",
      fmt::format("are too many for this kind of fit, which holds a matrix of them: at most {}", kMostWarmParameters),
      newton.parameters_.size()));
  if (problem.objective.task == glm::Task::kPoisson &&
      std::none_of(problem.labels.begin(), problem.labels.end(), [](double y) { return y > 0; }))
    return fail(bad_input({.field = "labels"}, "are all 0: a count that never occurs has no rate above 0"));
  newton.stand_at(NewtonSums(problem.objective, newton.share_, newton.parameters_));
  newton.first_violation_ = linalg::linf_norm(newton.gradient_);
  if (!std::isfinite(newton.first_violation_) || !std::isfinite(newton.loss_))
    return fail(bad_input({.field = "features"}, "every value and its square must be finite"));
  return newton;
}

bool WarmNewton::penalised(std::size_t coordinate) const {
  const std::size_t width = parameters_.size() / static_cast<std::size_t>(problem_->objective.classes);
  return problem_->objective.intercept != glm::Intercept::kFree || coordinate % width != width - 1;
}

double WarmNewton::value_of(const glm::Penalty& penalty) const {
  double sum = 0;
  for (std::size_t j = 0; j < parameters_.size(); ++j)
    if (penalised(j)) sum += penalty.value(parameters_[j]);
  return sum;
}

double WarmNewton::violation(const glm::Penalty& penalty) const {
  double largest = 0;
  for (std::size_t j = 0; j < parameters_.size(); ++j) {
    const double slope = gradient_[j];
    largest = std::max(largest, penalised(j) ? penalty.subgradient_distance(parameters_[j], slope) : std::abs(slope));
  }
  return largest;
}

double WarmNewton::largest_penalised_slope() const {
  double largest = 0;
  for (std::size_t j = 0; j < gradient_.size(); ++j)
    if (penalised(j)) largest = std::max(largest, std::abs(gradient_[j]));
  return largest;
}

// g'(v - u) + penalty(v) - penalty(u); differences of squares without cancellation.
double WarmNewton::promised(const glm::Penalty& penalty, const std::vector<double>& to) const {
  double sum = 0;
  for (std::size_t j = 0; j < to.size(); ++j) {
    const double from = parameters_[j], by = to[j] - from;
    sum += gradient_[j] * by;
    if (penalised(j)) sum += penalty.l2 * by * (from + by / 2) + penalty.l1 * (std::abs(to[j]) - std::abs(from));
  }
  return sum;
}

std::vector<double> WarmNewton::direction(const glm::Penalty& penalty, double tolerance) const {
  NewtonModel model{curvature_, gradient_, parameters_, penalty, std::vector<char>(parameters_.size()), tolerance};
  for (std::size_t j = 0; j < parameters_.size(); ++j) model.penalised[j] = penalised(j) ? 1 : 0;
  return newton_direction(model);
}

void WarmNewton::stand_at(NewtonSums sums) {
  parameters_.assign(sums.parameters().begin(), sums.parameters().end());
  loss_ = sums.loss() / records_;
  gradient_ = sums.gradient();
  linalg::scale(1 / records_, gradient_);
  curvature_is_here_ = false;
}

bool WarmNewton::move_along(const glm::Penalty& penalty, const std::vector<double>& direction) {
  const double before = loss_ + value_of(penalty);
  const double rounding = 1e-14 * (std::abs(before) + 1e-300);
  const std::vector<double> from = parameters_;
  for (double t = 1; t >= kSmallestStep; t /= 2) {
    std::vector<double> to = from;
    linalg::axpy(t, direction, to);
    const double promise = promised(penalty, to);
    if (!(promise < 0)) continue;
    NewtonSums sums(problem_->objective, share_, to);
    double after = sums.loss() / records_;
    for (std::size_t j = 0; j < to.size(); ++j)
      if (penalised(j)) after += penalty.value(to[j]);
    if (!(after <= before + kSufficient * promise + rounding)) continue;
    stand_at(std::move(sums));
    return true;
  }
  return false;
}

// Where every row is on its right side the loss falls towards 0 forever: then it is below that of one row on the border.
Result<void> WarmNewton::check_minimum(const glm::Penalty& penalty) const {
  const glm::Task task = problem_->objective.task;
  if (penalty.l1 > 0 || penalty.l2 > 0 || (task != glm::Task::kLogistic && task != glm::Task::kSoftmax)) return {};
  double least = 1;
  for (const double weight : share_.weights)
    if (weight > 0) least = std::min(least, weight);
  if (loss_ * records_ < least * std::log(2.0)) return fail(no_minimum());
  return {};
}

// What is 0 stays so, and what would change its sign becomes so.
void WarmNewton::go_on_as_before(const glm::Penalty& penalty) {
  if (before_last_.empty()) return;
  std::vector<double> to(last_.size());
  for (std::size_t j = 0; j < to.size(); ++j) {
    to[j] = 2 * last_[j] - before_last_[j];
    if (penalty.l1 > 0 && penalised(j) && to[j] * last_[j] <= 0) to[j] = 0;
  }
  NewtonSums sums(problem_->objective, share_, to);
  double there = sums.loss() / records_;
  for (std::size_t j = 0; j < to.size(); ++j)
    if (penalised(j)) there += penalty.value(to[j]);
  if (there < loss_ + value_of(penalty)) stand_at(std::move(sums));
}

Result<Fit> WarmNewton::solve(const glm::Penalty& penalty, const ExactSettings& settings, const Observer& observer) {
  go_on_as_before(penalty);
  Fit fit;
  Recorder record(fit, observer, {.certificate = Certificate::kGradientNorm});
  double before = std::numeric_limits<double>::infinity();
  for (fit.iterations = 0;; ++fit.iterations) {
    const double objective = loss_ + value_of(penalty);
    fit.gap = violation(penalty);
    fit.objective = objective;
    if (!std::isfinite(objective) || !std::isfinite(fit.gap))
      return fail(failed("exact: the objective overflows; scale the features"));
    PARLEY_CHECK(check_minimum(penalty));
    record.keep(objective);
    if (fit.gap <= settings.tolerance * first_violation_) record.end(Stop::kConverged);
    if (record.ended() || !record.show(objective, fit.gap) || fit.iterations == settings.max_iterations) break;
    const bool slow = !(fit.gap <= kGoodEnough * before);
    before = fit.gap;
    for (bool moved = false; !moved;) {
      if (curvature_.empty() || (slow && !curvature_is_here_)) {
        curvature_ = NewtonSums(problem_->objective, share_, parameters_).curvature();
        linalg::scale(1 / records_, curvature_);
        curvature_is_here_ = true;
      }
      moved = move_along(penalty, direction(penalty, 1e-3 * settings.tolerance * first_violation_));
      if (moved) break;
      if (curvature_is_here_) {
        record.end(fit.gap <= kResolved * first_violation_ ? Stop::kConverged : Stop::kStalled);
        break;
      }
      curvature_.clear();  // an old one led nowhere
    }
    if (record.ended()) break;
  }
  before_last_ = std::exchange(last_, parameters_);
  split(*problem_, parameters_, fit);
  return fit;
}

Result<Fit> exact_by_warm_newton(const Problem& problem, const ExactSettings& settings, const Observer& observer) {
  PARLEY_CHECK(check_free_intercept(problem));
  PARLEY_TRY(WarmNewton newton, WarmNewton::make(problem));
  return newton.solve(glm::penalty_of(problem.objective), settings, observer);
}

}  // namespace parley::algorithms
