// must say: this rule has no proof of how far one record moves its scores
#include "parley/privacy/sensitivity/exact_sums.h"

using namespace parley;
using namespace parley::privacy;

struct Bold : VertexRule {
  static double score(std::size_t, double gradient) { return 1e9 * gradient; }
};

double steal(const ExactSums& sums) { return sums.score(Bold{}, 0).sensitivity(); }
