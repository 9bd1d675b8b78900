// What a ledger offers for a plan that is asked for: the longest prefix of its steps that the purse still holds, at its
// price. Worked out from a standing alone, without holding the file.
#pragma once
#include <cstdint>

#include "parley/privacy/ledger/charges.h"
#include "parley/privacy/ledger/entry_text.h"
#include "parley/privacy/ledger/standing.h"

namespace parley::privacy {

struct Offer {
  std::int64_t steps = 0;  // 0: not even one fits
  ChargedPlan charged;
};
Offer offer_for(const Standing& standing, const Purse& purse, const PlanRequest& request);

}  // namespace parley::privacy
