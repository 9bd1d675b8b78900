// must say: selection needs a bound on every score
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

void wrong(Gate& gate, const Sensitive<GridVector, L2>& sum, Epsilon epsilon) {
  (void)gate.release(sum, ByExponential{epsilon});
}
