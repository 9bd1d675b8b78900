// must say: is private within this context
#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

ProvedDistance lie() { return ProvedDistance(0.001); }
