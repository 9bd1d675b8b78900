#include "parley/privacy/ledger/repricing.h"

#include <limits>

#include "parley/privacy/accounting/accountant.h"

namespace parley::privacy {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Calibration and pricing may use different grids; a price that is less than this share too low was proved on another
// one.
constexpr double kGrids = 2e-3;

}  // namespace

// What no accountant answers for costs without limit.
double Repricing::cost(const Plan& plan, double delta) {
  const auto [found, fresh] = costs_.try_emplace({to_json(plan), delta}, kInfinity);
  if (!fresh) return found->second;
  double least = pure_epsilon(plan).value_or(kInfinity);
  if (const auto rarely = Delta::make(delta))
    if (const auto best = epsilon_at(plan, *rarely); best && *best >= 0 && *best < least) least = *best;
  return found->second = least;
}

Repriced Repricing::of(const ChargedPlan& charged) {
  const Price stated = price_in(charged);
  if (charged.plan.events.empty() || stated.epsilon >= pure_epsilon(charged.plan).value_or(kInfinity)) return {stated};
  const double right = cost(charged.plan, stated.delta);
  if (stated.epsilon * (1 + kGrids) >= right) return {stated};
  return {{right, stated.delta}, true};
}

}  // namespace parley::privacy
