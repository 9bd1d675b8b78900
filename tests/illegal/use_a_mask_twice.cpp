// must say: use of deleted function
#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

using Sum = Sensitive<GridVector, L2>;

void twice(Gate& gate, const Sum& one, const Sum& other, NoiseShare noise, OneTimeMask mask) {
  const auto first = gate.release(one, Masked{noise, mask});
  const auto second = gate.release(other, Masked{noise, mask});
}
