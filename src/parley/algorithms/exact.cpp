#include "parley/algorithms/exact.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

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

}  // namespace

Result<void> check(const Problem& problem, const ExactSettings& settings) {
  const glm::Objective& objective = problem.objective;
  const auto finite_and_not_negative = [](double v) { return std::isfinite(v) && v >= 0; };
  PARLEY_CHECK(
      require(std::isfinite(settings.tolerance) && settings.tolerance > 0, "tolerance", "must be a positive number", settings.tolerance));
  PARLEY_CHECK(require(settings.max_iterations >= 1, "max_iterations", "must be at least 1", settings.max_iterations));
  PARLEY_CHECK(require(finite_and_not_negative(objective.l1), "l1", "must be a number >= 0", objective.l1));
  PARLEY_CHECK(require(finite_and_not_negative(objective.l2), "l2", "must be a number >= 0", objective.l2));
  if (objective.l1_radius)
    PARLEY_CHECK(require(std::isfinite(*objective.l1_radius) && *objective.l1_radius > 0, "l1_radius", "must be a positive number",
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
    return fail(bad_input({.field = "sparsity"}, "exact solves convex problems only; a bound on the number of nonzeros is not",
                          fmt::format("{}", *problem.objective.sparsity)));
  const bool smooth = problem.objective.l1 == 0 && !problem.objective.l1_radius;
  return smooth ? exact_smooth(problem, settings, observer) : exact_sparse(problem, settings, observer);
}

}  // namespace parley::algorithms
