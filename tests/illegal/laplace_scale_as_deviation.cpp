// must say: could not convert|cannot convert
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

Deviation wrong(LaplaceScale noise) { return noise; }
