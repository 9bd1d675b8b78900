// must say: is private within this context
#include "parley/privacy/sensitivity/batch_sum.h"

using namespace parley;
using namespace parley::privacy;

Batch everybody_i_like() { return Batch({1, 2, 3}, 0.001); }
