// must say: ProvedRule.*does not name a template type
#include "parley/privacy/sensitivity/exact_sums.h"

using namespace parley;
using namespace parley::privacy;

struct Bold {
  static constexpr std::size_t kSides = 1;
};

template <>
concept parley::privacy::ProvedRule<Bold> = true;
