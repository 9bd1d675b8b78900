#include "parley/algorithms/exact.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parley/algorithms/exact_smooth.h"
#include "parley/algorithms/exact_sparse.h"

namespace parley::algorithms {

namespace {

using glm::Task;

bool fits(double label, const glm::Objective& objective) {
  switch (objective.task) {
    case Task::kLinear:
      return std::isfinite(label);
    case Task::kLogistic:
    case Task::kSquaredHinge:
      return label == 1.0 || label == -1.0;
    case Task::kSoftmax:
      return label >= 0 && label < objective.classes && label == std::floor(label);
  }
  return false;
}

std::string_view label_rule(Task task) {
  switch (task) {
    case Task::kLinear:
      return "a label must be a finite number";
    case Task::kLogistic:
    case Task::kSquaredHinge:
      return "a label must be -1 or +1";
    case Task::kSoftmax:
      return "a label must be a class number from 0 to classes - 1";
  }
  return "";
}

Result<void> require(bool holds, std::string_view field, std::string_view rule, double value) {
  if (holds) return {};
  return fail(bad_input({.field = std::string(field)}, rule, fmt::format("{}", value)));
}

// Without any penalty the optimum does not know in which units columns are measured, but the norm of a gradient does: beside a column of
// millions one of millionths is invisible. So columns are brought to about the same size, by powers of two, which round nothing.
Result<Fit> exact_without_penalty(const Problem& problem, const ExactSettings& settings, const Observer& observer) {
  const linalg::Matrix& features = problem.features;
  std::vector<double> squares = features.column_squared_norms();
  std::vector<double> units(squares.size(), 1.0), scale(squares.size());
  for (std::size_t j = 0; j < squares.size(); ++j) {
    const double size = std::sqrt(squares[j] / static_cast<double>(features.rows()));
    if (size > 0 && std::isfinite(size)) units[j] = std::ldexp(1.0, -std::ilogb(size));
    scale[j] = (features.column_scale().empty() ? 1.0 : features.column_scale()[j]) * units[j];
  }
  const linalg::Matrix alike = features.with_column_scale(std::move(scale));
  PARLEY_TRY(Fit fit, exact_smooth({alike, problem.labels, problem.objective, problem.privacy}, settings, observer));
  for (std::size_t c = 0; c < fit.weights.size(); ++c) fit.weights[c] *= units[c % units.size()];
  return fit;
}

}  // namespace

Result<void> check(const Problem& problem, const ExactSettings& settings) {
  const glm::Objective& objective = problem.objective;
  const auto finite_and_not_negative = [](double v) { return std::isfinite(v) && v >= 0; };
  PARLEY_CHECK(require(std::isfinite(settings.tolerance) && settings.tolerance > 0, "algorithm.tolerance", "must be a positive number",
                       settings.tolerance));
  PARLEY_CHECK(require(settings.max_iterations >= 1, "algorithm.max_iterations", "must be at least 1", settings.max_iterations));
  PARLEY_CHECK(require(finite_and_not_negative(objective.l1), "model.l1", "must be a number >= 0", objective.l1));
  PARLEY_CHECK(require(finite_and_not_negative(objective.l2), "model.l2", "must be a number >= 0", objective.l2));
  if (objective.l1_radius)
    PARLEY_CHECK(require(std::isfinite(*objective.l1_radius) && *objective.l1_radius > 0, "model.l1_radius", "must be a positive number",
                         *objective.l1_radius));
  const bool softmax = objective.task == Task::kSoftmax;
  PARLEY_CHECK(require(softmax ? objective.classes >= 2 : objective.classes == 1, "classes",
                       softmax ? "softmax needs at least 2 classes" : "must be 1 unless the task is softmax", objective.classes));
  PARLEY_CHECK(require(problem.features.rows() >= 1, "features", "needs at least one row", problem.features.rows()));
  PARLEY_CHECK(require(problem.labels.size() == static_cast<std::size_t>(problem.features.rows()), "labels", "needs one label per row",
                       static_cast<double>(problem.labels.size())));
  for (std::size_t i = 0; i < problem.labels.size(); ++i)
    if (!fits(problem.labels[i], objective))
      return fail(
          bad_input({.field = fmt::format("label of row {}", i + 1)}, label_rule(objective.task), fmt::format("{}", problem.labels[i])));
  return {};
}

Result<Fit> exact(const Problem& problem, const ExactSettings& settings, const Observer& observer) {
  PARLEY_CHECK(check(problem, settings));
  if (problem.objective.sparsity)
    return fail(bad_input({.field = "model.sparsity"}, "exact solves convex problems only; a bound on the number of nonzeros is not",
                          fmt::format("{}", *problem.objective.sparsity)));
  const bool smooth = problem.objective.l1 == 0 && !problem.objective.l1_radius;
  if (!smooth) return exact_sparse(problem, settings, observer);
  return problem.objective.l2 > 0 ? exact_smooth(problem, settings, observer) : exact_without_penalty(problem, settings, observer);
}

}  // namespace parley::algorithms
