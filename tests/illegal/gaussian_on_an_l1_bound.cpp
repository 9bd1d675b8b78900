// must say: Gaussian noise needs an l2 bound
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

void wrong(Gate& gate, const Sensitive<GridVector, L1>& sum) { (void)gate.release(sum, Deviation{1}); }
