// must say: use of deleted function
#include "parley/privacy/paid_runs.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

PaidRuns twice(const PaidRuns& paid) { return paid; }
