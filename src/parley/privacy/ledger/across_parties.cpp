#include "parley/privacy/ledger/across_parties.h"

#include <algorithm>

#include "parley/privacy/accounting/accountant.h"

namespace parley::privacy {

Result<double> epsilon_across(std::span<const Plan> parties, Holding holding, Delta delta) {
  if (parties.empty()) return 0.0;
  for (const Plan& plan : parties)
    if (plan.neighbours != parties.front().neighbours)
      return fail(bad_input({.field = "neighbours"}, "costs under replace-one and add-remove are never added up"));
  if (holding == Holding::kSameRecords) {
    Plan all{parties.front().neighbours, {}};
    for (const Plan& plan : parties) all.events.insert(all.events.end(), plan.events.begin(), plan.events.end());
    return epsilon_at(all, delta);
  }
  double largest = 0;
  for (const Plan& plan : parties) {
    PARLEY_TRY(const double epsilon, epsilon_at(plan, delta));
    largest = std::max(largest, epsilon);
  }
  return largest;
}

}  // namespace parley::privacy
