// must say: sensitivity_.*is private
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

void lie(Sensitive<GridVector, L2>& sum) { sum.sensitivity_ = 0; }
