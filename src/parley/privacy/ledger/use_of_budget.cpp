#include "parley/privacy/ledger/use_of_budget.h"

#include <fmt/format.h>

#include <cmath>

#include "parley/privacy/accounting/statement.h"

namespace parley::privacy {

namespace {

std::string share(std::string_view what, double used, double whole) {
  if (!std::isfinite(used)) return fmt::format("{} without end of {}", what, whole);
  return fmt::format("{} {} of {} ({} %)", what, rounded_up(used, 4), whole, rounded_up(100 * used / whole, 3));
}

}  // namespace

std::string use_of_budget(const Spent& spent) {
  const double epsilon = spent.budget->epsilon.value(), delta = spent.budget->delta.value();
  const bool by_plans = spent.budget->composition == Composition::kPlans;
  // A filter counts steps in one number and reserves the budget's delta from the beginning.
  const std::string text = by_plans ? share("epsilon", spent.epsilon, epsilon) + " and " + share("delta", spent.delta, delta) + " are used"
                                    : fmt::format("{} % of it is used", rounded_up(100 * spent.used, 3));
  if (spent.overspent) return text + "; it is overspent, and nothing more is released";
  if (by_plans && spent.delta >= delta && spent.epsilon < epsilon) return text + "; delta is used up, and only what needs none still fits";
  return text;
}

}  // namespace parley::privacy
