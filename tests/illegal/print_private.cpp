// must say: a private value cannot be printed
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

void leak(const Private<double>& salary) { std::cout << salary; }
