// must say: use of deleted function
#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

using Words = std::vector<std::uint64_t>;

void twice(Gate& gate, DealtMask<std::uint64_t> mask) {
  const auto first = gate.under(Private(Words{1}), mask);
  const auto second = gate.under(Private(Words{2}), mask);
}
