// must say: no matching function|could not convert|cannot convert
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

void wrong(Gate& gate, const Sensitive<GridVector, L2>& sum) { (void)gate.release(sum, 1.0); }
