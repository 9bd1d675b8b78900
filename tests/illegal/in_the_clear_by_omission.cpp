// must say: no matching function
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

void leak(const Private<double>& salary) { (void)Gate::in_the_clear(salary); }
