// must say: is private within this context
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

Released<double> leak(double mean) { return Released<double>(mean, true); }
