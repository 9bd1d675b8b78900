// must say: is private within this context|could not convert
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

Sensitive<GridVector, L2> lie(GridVector sum) {
  return Sensitive<GridVector, L2>(sum, 0.001, Neighbours::kReplaceOne, Unit::kRecord);
}
