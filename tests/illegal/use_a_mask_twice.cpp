// must say: cannot bind rvalue reference
#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

void twice(Gate& gate, const Sensitive<GridVector, L2>& one, const Sensitive<GridVector, L2>& other, NoiseShare noise, OneTimeMask mask) {
  const auto first = gate.masked(one, noise, mask);
  const auto second = gate.masked(other, noise, mask);
}
