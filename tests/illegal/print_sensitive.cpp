// must say: a sensitive value cannot be printed
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

void leak(const Sensitive<GridVector, L2>& sum) { std::cout << sum; }
