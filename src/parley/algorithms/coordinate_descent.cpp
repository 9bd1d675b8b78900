#include "parley/algorithms/coordinate_descent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "parley/algorithms/exact.h"
#include "parley/algorithms/kept_margins.h"
#include "parley/glm/penalties.h"
#include "parley/linalg/public_random.h"

namespace parley::algorithms {

namespace {

using glm::Intercept;
using linalg::Index;

constexpr int kPasses = 100;

Result<void> check(const Problem& problem, const CoordinateSettings& settings) {
  PARLEY_CHECK(check(problem, ExactSettings{}));  // what every single-site trainer asks of its problem
  const glm::Objective& objective = problem.objective;
  if (objective.l1_radius)
    return fail(bad_input({.field = "l1_radius"},
                          "coordinate-descent takes penalties (l1, l2), not constraints",
                          fmt::format("{}", *objective.l1_radius)));
  if (objective.sparsity)
    return fail(bad_input({.field = "sparsity"},
                          "coordinate-descent takes penalties (l1, l2), not constraints",
                          fmt::format("{}", *objective.sparsity)));
  if (settings.passes && *settings.passes < 1)
    return fail(bad_input({.field = "passes"}, "must be at least 1", fmt::format("{}", *settings.passes)));
  if (settings.step && (!(*settings.step > 0) || !std::isfinite(*settings.step)))
    return fail(bad_input({.field = "step"}, "must be a number above 0", fmt::format("{}", *settings.step)));
  if (!(settings.tolerance >= 0) || !std::isfinite(settings.tolerance))
    return fail(
        bad_input({.field = "tolerance"}, "must be a number >= 0", fmt::format("{}", settings.tolerance)));
  return {};
}

// sup of the second derivative of the loss along one margin.
double coordinate_curvature(glm::Task task) {
  return task == glm::Task::kSoftmax ? 0.25 : glm::curvature_bound(task);
}

// Partial derivatives made when they are asked for: a sum over one column.
class OpenColumns {
 public:
  explicit OpenColumns(const Problem& problem)
      : features_(problem.features),
        rows_(problem.labels.size()),
        columns_(static_cast<std::size_t>(problem.features.cols())),
        classes_(static_cast<std::size_t>(problem.objective.classes)),
        width_(columns_ + (problem.objective.intercept == Intercept::kNone ? 0 : 1)),
        derivatives_(rows_ * classes_) {}

  // Record by record, as KeptMargins tells them; kept class by class.
  void assign(std::span<const double> derivatives) {
    for (std::size_t i = 0; i < rows_; ++i)
      assign_row(static_cast<Index>(i), derivatives.subspan(i * classes_, classes_));
  }
  void assign_row(Index row, std::span<const double> derivatives) {
    for (std::size_t k = 0; k < classes_; ++k)
      derivatives_[k * rows_ + static_cast<std::size_t>(row)] = derivatives[k];
  }

  [[nodiscard]] double partial(std::size_t coordinate) const {
    const auto plane = std::span(derivatives_).subspan(coordinate / width_ * rows_, rows_);
    const std::size_t j = coordinate % width_;
    double sum = 0;
    if (j < columns_)
      sum = features_.column_dot(static_cast<Index>(j), plane);
    else
      for (const double q : plane) sum += q;
    return sum / static_cast<double>(rows_);
  }

  // M_j of the coordinates of one class; infinity for a column of zeros, whose weight never moves.
  [[nodiscard]] std::vector<double> smoothness(double curvature) const {
    std::vector<double> of = features_.column_squared_norms();
    for (double& m : of)
      m = m > 0 ? m * curvature / static_cast<double>(rows_) : std::numeric_limits<double>::infinity();
    if (width_ != columns_) of.push_back(curvature);
    return of;
  }

 private:
  const linalg::Matrix& features_;
  const std::size_t rows_;
  const std::size_t columns_;
  const std::size_t classes_;
  const std::size_t width_;
  std::vector<double> derivatives_;
};

// Which coordinate a step takes.
class Order {
 public:
  Order(const CoordinateSettings& settings, std::size_t coordinates)
      : order_(settings.order), random_(settings.seed), coordinates_(coordinates) {}

  [[nodiscard]] std::size_t at(std::uint64_t step) const {
    return static_cast<std::size_t>(
        order_ == CoordinateOrder::kCyclic ? step % coordinates_ : random_.below(coordinates_, 0, step));
  }

 private:
  CoordinateOrder order_;
  linalg::PublicRandom random_;
  std::uint64_t coordinates_;
};

}  // namespace

Result<Fit> coordinate_descent(const Problem& problem, const CoordinateSettings& settings,
                               const Observer& observer) {
  PARLEY_CHECK(check(problem, settings));
  KeptMargins margins(problem, Upkeep::kAutomatic);
  OpenColumns columns(problem);
  margins.refresh(columns);
  const glm::Penalty penalty = penalty_of(problem.objective);
  const bool free = problem.objective.intercept == Intercept::kFree;
  const std::vector<double> smoothness = columns.smoothness(coordinate_curvature(problem.objective.task));
  const std::size_t coordinates = margins.coordinates();
  const Order order(settings, coordinates);
  const int passes = settings.passes.value_or(kPasses);
  const double gamma = settings.step.value_or(1.0);

  std::vector<double> weights(coordinates);
  Fit fit{.gap = std::numeric_limits<double>::quiet_NaN(), .stop = Stop::kIterations};
  for (int pass = 1; pass <= passes && fit.stop == Stop::kIterations; ++pass) {
    double largest_promise = 0;
    for (std::size_t s = 0; s < coordinates; ++s) {
      const std::size_t c = order.at(static_cast<std::uint64_t>(pass - 1) * coordinates + s);
      const double m = smoothness[c % margins.width()] / gamma;
      const double g = columns.partial(c);
      if (!std::isfinite(g))
        return fail(bad_input({.field = "features"}, "must be finite numbers; the gradient is not",
                              fmt::format("{}", g)));
      const double moved = weights[c] - g / m;
      const double change =
          (free && margins.is_constant(c) ? moved : penalty.prox(1 / m, moved)) - weights[c];
      ++fit.iterations;
      if (change == 0 || !std::isfinite(m)) continue;
      largest_promise = std::max(largest_promise, 0.5 * m * change * change);
      weights[c] += change;
      margins.add(c, change, columns);
    }
    fit.weights.clear();
    fit.intercepts.clear();
    for (std::size_t c = 0; c < coordinates; ++c)
      (margins.is_constant(c) ? fit.intercepts : fit.weights).push_back(weights[c]);
    fit.history.push_back(margins.mean_loss() +
                          penalty_value(problem.objective, fit.weights, fit.intercepts));
    // A random pass need not have looked everywhere.
    if (settings.order == CoordinateOrder::kCyclic && largest_promise <= settings.tolerance &&
        settings.tolerance > 0)
      fit.stop = Stop::kConverged;
    if (observer &&
        !observer({fit.iterations, fit.history.back(), fit.gap, passes * static_cast<int>(coordinates)}) &&
        fit.stop == Stop::kIterations && pass < passes)
      fit.stop = Stop::kInterrupted;
  }
  fit.objective = evaluate(problem.objective, problem.features, problem.labels, fit.weights, fit.intercepts);
  fit.history.back() = fit.objective;
  return fit;
}

}  // namespace parley::algorithms
