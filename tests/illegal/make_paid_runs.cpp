// must say: is private within this context
#include "parley/privacy/paid_runs.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

PaidRuns free_of_charge(Plan plan, Bits& bits) { return PaidRuns({plan}, plan, Purse{}, bits, 1000); }
