#include "parley/privacy/sensitivity/theorems.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <utility>

namespace parley::privacy {

namespace {

// Rounding of a handful of double operations, upwards.
constexpr double kRoundUp = 1 + 1e-14;

Result<void> all_positive(std::initializer_list<std::pair<const char*, double>> numbers) {
  for (const auto& [name, value] : numbers)
    if (!(value > 0) || !std::isfinite(value))
      return fail(bad_input({.field = name}, "must be a finite number above 0", fmt::format("{}", value)));
  return {};
}

Result<void> not_negative(const char* name, double value) {
  if (!(value >= 0) || !std::isfinite(value))
    return fail(bad_input({.field = name}, "must be a finite number of at least 0", fmt::format("{}", value)));
  return {};
}

}  // namespace

Result<ProvedDistance> argmin_sensitivity(const StronglyConvexArgmin& problem) {
  PARLEY_CHECK(all_positive({{"lipschitz", problem.lipschitz},
                             {"strong_convexity", problem.strong_convexity},
                             {"records", problem.records}}));
  return ProvedDistance(2 * problem.lipschitz / (problem.strong_convexity * problem.records) * kRoundUp);
}

Result<ProvedDistance> admm_sharing_sensitivity(const AdmmSharing& p) {
  PARLEY_CHECK(all_positive({{"value_bound", p.value_bound},
                             {"row_bound", p.row_bound},
                             {"dual_bound", p.dual_bound},
                             {"weight_bound", p.weight_bound},
                             {"rho", p.rho},
                             {"lambda", p.lambda}}));
  PARLEY_CHECK(not_negative("value_error", p.value_error));
  const double push = p.dual_bound + p.rho * p.row_bound * p.weight_bound;
  const double exact =
      std::sqrt(4 * p.value_bound * p.value_bound + 4 * p.row_bound * p.row_bound * push * push / (p.lambda * p.rho));
  return ProvedDistance(exact * kRoundUp + 2 * p.value_error);
}

Result<ProvedDistance> admm_weights_sensitivity(const AdmmWeights& p) {
  PARLEY_CHECK(all_positive({{"row_bound", p.row_bound},
                             {"dual_bound", p.dual_bound},
                             {"weight_bound", p.weight_bound},
                             {"rho", p.rho},
                             {"lambda", p.lambda}}));
  PARLEY_CHECK(not_negative("weight_error", p.weight_error));
  const double push = p.dual_bound + p.rho * p.row_bound * p.weight_bound;
  return ProvedDistance(2 * p.row_bound * push / p.lambda * kRoundUp + 2 * p.weight_error);
}

Result<ProvedDistance> sketched_column_sensitivity(const SketchedColumn& column) {
  PARLEY_CHECK(all_positive({{"bound", column.bound}, {"column_norm", column.column_norm}}));
  PARLEY_CHECK(not_negative("error", column.error));
  return ProvedDistance(2 * column.bound * column.column_norm * kRoundUp + 2 * column.error);
}

}  // namespace parley::privacy
