// must say: this rule has no proof of how far one record moves its scores
#include "parley/privacy/sensitivity/exact_sums.h"

using namespace parley;
using namespace parley::privacy;

struct Bold {
  static constexpr std::size_t kSides = 1;
  double score(std::size_t, double gradient) const { return 1e9 * gradient; }
  double slope(std::size_t) const { return 1; }
  double offset(std::size_t) const { return 0; }
};

double steal(const ExactSums& sums) { return sums.score(Bold{}, 0).sensitivity(); }
