// must say: Gaussian noise needs an l2 bound
#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/exact_sums.h"

using namespace parley;
using namespace parley::privacy;

auto release(Gate& gate, const ExactSums& sums) { return gate.release(sums.value<L1>(0), Deviation{1.0}); }
