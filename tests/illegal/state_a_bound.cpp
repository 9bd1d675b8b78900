// must say: is private within this context
#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

Sensitive<GridVector, L2> lie(const GridVector& sum) { return SensitivityBound::state<L2>(sum, 1e-9, ClipRule{}); }
