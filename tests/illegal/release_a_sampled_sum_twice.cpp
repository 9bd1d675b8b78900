// must say: use of deleted function
#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

void twice(Gate& gate, Sensitive<SampledVector, L2> sum) {
  (void)gate.release(sum, Deviation{1.0});
  (void)gate.release(sum, Deviation{1.0});
}
