// must say: could not convert|conversion from|cannot convert
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

Budget swapped(Epsilon epsilon, Delta delta) { return Budget{delta, epsilon}; }
