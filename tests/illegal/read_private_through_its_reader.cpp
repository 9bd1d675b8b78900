// must say: read.*is private
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

double leak(const Private<double>& salary) { return PrivateReader::read(salary); }
