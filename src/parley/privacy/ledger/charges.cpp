#include "parley/privacy/ledger/charges.h"

#include <algorithm>

namespace parley::privacy {

std::string_view name(Composition composition) {
  return composition == Composition::kSteps ? "steps" : "plans";
}

Plan PlanRequest::plan(Neighbours neighbours, std::int64_t first_steps) const {
  Plan whole{neighbours, once};
  for (Event event : step) {
    // A count that overflows is left beyond the limit, and refused there.
    event.count =
        event.count > kMaxCount / std::max<std::int64_t>(first_steps, 1) ? kMaxCount + 1 : event.count * first_steps;
    whole.events.push_back(event);
  }
  return whole;
}

}  // namespace parley::privacy
