#include "parley/privacy/ledger/budget_ended.h"

#include <fmt/format.h>

#include <cmath>

#include "parley/core/text.h"
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
  std::string text =
      by_plans ? share("epsilon", spent.epsilon, epsilon) + " and " + share("delta", spent.delta, delta) + " are used"
               : fmt::format("{} % of it is used", rounded_up(100 * spent.used, 3));
  if (spent.overspent) return text + "; it is overspent, and nothing more is released";
  if (by_plans && spent.delta >= delta && spent.epsilon < epsilon)
    return text + "; delta is used up, and only what needs none still fits";
  return text;
}

Error budget_ended(const Spent& spent, std::string_view wanted) {
  const Budget& budget = *spent.budget;
  return {Fault::kBudgetEnded,
          fmt::format(
              "the budget of data set '{}' (epsilon {}, delta {}, by {}) does not allow {}: {}; nothing was released",
              printable(spent.purse.data_set), budget.epsilon.value(), budget.delta.value(), name(budget.composition),
              wanted, use_of_budget(spent))};
}

}  // namespace parley::privacy
