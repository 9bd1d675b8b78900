// must say: no matching function|could not convert
#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/exact_sums.h"

using namespace parley;
using namespace parley::privacy;

auto release(Gate& gate, const ExactSums& sums) { return gate.gaussian(sums.value<L1>(0), Deviation{1.0}); }
