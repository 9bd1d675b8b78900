#include "parley/privacy/accounting/accountant.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/privacy/accounting/bracket.h"
#include "parley/privacy/accounting/each_accountant.h"
#include "parley/privacy/accounting/least_cost.h"
#include "parley/privacy/accounting/numerics.h"

namespace parley::privacy {
namespace {

using namespace accounting;

Result<void> check_epsilon(double epsilon) {
  if (!(epsilon >= 0) || !std::isfinite(epsilon))
    return fail(bad_input({.field = "epsilon"}, "must be a finite number, 0 or above", fmt::format("{}", epsilon)));
  return {};
}

}  // namespace

std::string_view name(Accountant accountant) {
  switch (accountant) {
    case Accountant::kBasic:
      return "basic";
    case Accountant::kKov:
      return "kov";
    case Accountant::kZcdp:
      return "zcdp";
    case Accountant::kRdp:
      return "rdp";
    case Accountant::kPld:
      return "pld";
    case Accountant::kBest:
      return "best";
  }
  return "?";
}

Result<double> searched_epsilon_at(const Plan& plan, Delta delta, Accountant accountant, double grid) {
  PARLEY_CHECK(validate(plan));
  return epsilon_by(MergedPlan(plan), delta.value(), accountant, grid);
}

Result<double> searched_delta_at(const Plan& plan, double epsilon, Accountant accountant, double grid) {
  PARLEY_CHECK(validate(plan));
  PARLEY_CHECK(check_epsilon(epsilon));
  return delta_by(MergedPlan(plan), epsilon, accountant, grid);
}

namespace {

std::array<std::string_view, kAccountants.size()> names_of_all() {
  std::array<std::string_view, kAccountants.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = name(kAccountants[i]);
  return names;
}

// The smallest epsilon, to 1e-4 of it, at which the accountant proves `delta` when it is walked down to from `epsilon`,
// at which it does. Where the law is far from normal the search for epsilon may aim beside it, and stops too high.
double lowered(const MergedPlan& plan, double epsilon, double delta, Accountant accountant, double grid) {
  const auto proved = [&](double lower) { return delta_by(plan, lower, accountant, grid) <= delta; };
  double step = 1e-3 * epsilon, failed = epsilon - step;
  while (failed > 0 && proved(failed)) {
    epsilon = failed;
    step *= 2;
    failed = std::max(0.0, epsilon - step);
  }
  while (epsilon - failed > 1e-4 * epsilon) {
    const double middle = 0.5 * (epsilon + failed);
    (proved(middle) ? epsilon : failed) = middle;
  }
  return epsilon;
}

// ln delta at an epsilon that was searched for is within this of the ln delta that it was searched for, unless the
// search went astray or delta falls off a cliff there.
constexpr double kAstray = 0.1;

// An epsilon near `epsilon` at which the same accountant proves `delta`. Epsilons and deltas come from grids of
// their own, each valid and each off by its own excess; what is reported holds whichever way it is asked for.
double settled(const MergedPlan& plan, double epsilon, double delta, Accountant accountant, double grid) {
  double before = 0, excess_before = 0;
  for (int i = 0; i < 40 && std::isfinite(epsilon); ++i) {
    const double excess = std::log(delta_by(plan, epsilon, accountant, grid) / delta);
    if (i == 0 && excess < -kAstray) return lowered(plan, epsilon, delta, accountant, grid);
    if (excess <= 0) return epsilon;
    // delta falls by less than epsilon rises: so much is needed at least. After that by the slope that was seen.
    double more = std::max(epsilon * 1e-9, delta * std::expm1(excess));
    if (i > 0 && excess < excess_before)
      more = std::max(more, 1.1 * excess * (epsilon - before) / (excess_before - excess));
    if (i > 0) more = std::min(more, std::max(1.0, epsilon));
    if (i > 4) more = std::max(more, 4 * (epsilon - before));
    before = epsilon;
    excess_before = excess;
    epsilon += more;
  }
  return kInfinity;
}

Result<Account> epsilon_by_all(const MergedPlan& plan, double delta, double grid) {
  Account account{.epsilon = kInfinity, .delta = delta, .chosen = kAccountants[0]};
  for (std::size_t i = 0; i < kAccountants.size(); ++i) account.all[i] = epsilon_by(plan, delta, kAccountants[i], grid);
  const double least = plan.unprotected ? kInfinity : least_epsilon(plan.plan(), delta);
  for (std::array<bool, kAccountants.size()> is_settled{};;) {
    PARLEY_TRY(const ValidAnswer best, smallest_valid(account.all, names_of_all(), least, kInfinity, "epsilon"));
    account.epsilon = best.value;
    account.chosen = kAccountants[best.index];
    if (std::isinf(best.value) || is_settled[best.index]) return account;
    account.all[best.index] = settled(plan, best.value, delta, account.chosen, grid);
    is_settled[best.index] = true;
  }
}

Result<Account> delta_by_all(const MergedPlan& plan, double epsilon, double grid) {
  Account account{.epsilon = epsilon, .delta = 1, .chosen = kAccountants[0]};
  for (std::size_t i = 0; i < kAccountants.size(); ++i) account.all[i] = delta_by(plan, epsilon, kAccountants[i], grid);
  const double least = plan.unprotected ? 1 : least_delta(plan.plan(), epsilon);
  PARLEY_TRY(const ValidAnswer best, smallest_valid(account.all, names_of_all(), std::min(least, 1.0), 1, "delta"));
  account.delta = best.value;
  account.chosen = kAccountants[best.index];
  return account;
}

}  // namespace

Result<double> epsilon_at(const Plan& plan, Delta delta, Accountant accountant, double grid) {
  PARLEY_CHECK(validate(plan));
  const MergedPlan merged(plan);
  if (accountant == Accountant::kBest) {
    PARLEY_TRY(const Account account, epsilon_by_all(merged, delta.value(), grid));
    return account.epsilon;
  }
  const double answer =
      settled(merged, epsilon_by(merged, delta.value(), accountant, grid), delta.value(), accountant, grid);
  if (!merged.unprotected)
    PARLEY_CHECK(check_not_below(answer, least_epsilon(merged.plan(), delta.value()), name(accountant), "epsilon"));
  return answer;
}

Result<double> delta_at(const Plan& plan, double epsilon, Accountant accountant, double grid) {
  PARLEY_CHECK(validate(plan));
  PARLEY_CHECK(check_epsilon(epsilon));
  const MergedPlan merged(plan);
  if (accountant == Accountant::kBest) {
    PARLEY_TRY(const Account account, delta_by_all(merged, epsilon, grid));
    return account.delta;
  }
  const double answer = delta_by(merged, epsilon, accountant, grid);
  if (!merged.unprotected)
    PARLEY_CHECK(
        check_not_below(answer, std::min(least_delta(merged.plan(), epsilon), 1.0), name(accountant), "delta"));
  return answer;
}

Result<Account> account_at_delta(const Plan& plan, Delta delta) {
  PARLEY_CHECK(validate(plan));
  return epsilon_by_all(MergedPlan(plan), delta.value(), kFineGrid);
}

Result<Account> account_at_epsilon(const Plan& plan, double epsilon) {
  PARLEY_CHECK(validate(plan));
  PARLEY_CHECK(check_epsilon(epsilon));
  return delta_by_all(MergedPlan(plan), epsilon, kFineGrid);
}

Result<double> pure_epsilon(const Plan& plan) {
  PARLEY_CHECK(validate(plan));
  return pure_sum(MergedPlan(plan)) * (1 + kSlack);
}

Result<double> zcdp_of(const Plan& plan) {
  PARLEY_CHECK(validate(plan));
  return zcdp_sum(MergedPlan(plan));
}

Result<double> renyi_of(const Plan& plan, double order) {
  PARLEY_CHECK(validate(plan));
  if (!(order > 1) || !std::isfinite(order))
    return fail(bad_input({.field = "order"}, "must be a finite number above 1", fmt::format("{}", order)));
  return renyi_sum(MergedPlan(plan), order);
}

double estimated_log_delta(const Plan& plan, double epsilon, double log_delta) {
  return accounting::estimated_log_delta(MergedPlan(plan), epsilon, log_delta);
}

}  // namespace parley::privacy
