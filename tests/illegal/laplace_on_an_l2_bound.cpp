// must say: Laplace noise needs an l1 bound
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

void wrong(Gate& gate, const Sensitive<GridVector, L2>& sum) { (void)gate.release(sum, LaplaceScale{1}); }
