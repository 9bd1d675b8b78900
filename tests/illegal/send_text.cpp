// must say: only a Released value or a fault code may travel
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

Outgoing<double> leak() { return std::string("row 7 has age 41"); }
