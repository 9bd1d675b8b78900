// must say: is private within this context|no matching function
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

Gate free_of_charge(Bits& bits) { return Gate(Purse{}, "run", bits); }
