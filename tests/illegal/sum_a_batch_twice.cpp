// must say: cannot bind rvalue reference|use of deleted function
#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

void twice(BatchSum& sum, Batch batch, std::span<const double> derivatives) {
  const auto first = sum.sum(batch, derivatives);
  const auto second = sum.sum(batch, derivatives);
}
