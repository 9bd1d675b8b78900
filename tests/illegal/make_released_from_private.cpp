// must say: no matching function|cannot convert|could not convert
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

Released<double> leak(const Private<double>& salary) { return salary; }
