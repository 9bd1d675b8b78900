#include "parley/algorithms/exact/exact.h"

#include <cmath>
#include <utility>
#include <vector>

#include "parley/algorithms/exact/exact_sets.h"
#include "parley/algorithms/exact/exact_smooth.h"
#include "parley/algorithms/exact/exact_sparse.h"
#include "parley/algorithms/exact/warm_newton.h"
#include "parley/algorithms/parts/check.h"

namespace parley::algorithms {

ExactSettings ExactSettings::read(Toml& settings) {
  ExactSettings exact;
  settings.number("tolerance", exact.tolerance, above(0));
  settings.integer("iterations", exact.max_iterations, at_least(1));
  return exact;
}

namespace {

constexpr Refusal kRefused[] = {
    {Part::kSparsity, "exact solves convex problems only; a bound on the number of nonzeros is not"},
    {Part::kBox, kTaken},
    {Part::kL1Groups, kTaken}};

// Without any penalty the optimum does not know in which units columns are measured, but the norm of a gradient does:
// beside a column of millions one of millionths is invisible. So columns are brought to about the same size, by powers
// of two, which round nothing.
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
  PARLEY_TRY(Fit fit,
             exact_smooth({alike, problem.labels, problem.objective, problem.privacy, {}}, settings, observer));
  for (std::size_t c = 0; c < fit.weights.size(); ++c) fit.weights[c] *= units[c % units.size()];
  return fit;
}

}  // namespace

Result<Fit> exact(const Problem& problem, const ExactSettings& settings, const Observer& observer) {
  PARLEY_CHECK(
      require(is_positive(settings.tolerance), "algorithm.tolerance", "must be a positive number", settings.tolerance));
  PARLEY_CHECK(
      require(settings.max_iterations >= 1, "algorithm.max_iterations", "must be at least 1", settings.max_iterations));
  PARLEY_CHECK(check(problem, kRefused));
  if (problem.objective.task == glm::Task::kPoisson || !problem.weights.empty()) {
    const bool free = !problem.objective.l1_radius && !problem.objective.box && problem.objective.l1_groups.empty();
    PARLEY_CHECK(require(free, "model",
                         "has a constraint, and exact takes weights of records and counts with penalties only",
                         glm::name(problem.objective.task)));
    return exact_by_warm_newton(problem, settings, observer);
  }
  if (problem.objective.box || !problem.objective.l1_groups.empty()) return exact_sets(problem, settings, observer);
  const bool smooth = problem.objective.l1 == 0 && !problem.objective.l1_radius;
  if (!smooth) return exact_sparse(problem, settings, observer);
  return problem.objective.l2 > 0 ? exact_smooth(problem, settings, observer)
                                  : exact_without_penalty(problem, settings, observer);
}

}  // namespace parley::algorithms
