// must say: could not convert|cannot convert|no matching function|is private within this context
#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

auto lie(const Private<std::vector<double>>& values) {
  return values_by_theorem(values, ClipRule{.bound = 1.0, .grain = Grain{-20}}, 0.001);
}
