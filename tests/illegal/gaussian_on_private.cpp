// must say: no matching function
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

void wrong(Gate& gate, const Private<std::vector<double>>& rows) { (void)gate.release(rows, Deviation{1}); }
