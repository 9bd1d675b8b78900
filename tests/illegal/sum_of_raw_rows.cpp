// must say: invalid initialization|no matching function|could not convert
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

void wrong(const std::vector<double>& rows) { (void)clipped_sum(rows, ClipRule{.bound = 1.0}); }
