// must say: value_.*is private
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

GridVector leak(const Sensitive<GridVector, L2>& sum) { return sum.value_; }
