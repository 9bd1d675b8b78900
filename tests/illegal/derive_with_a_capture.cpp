// must say: a function of released values may capture nothing
#include <vector>

#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

Released<double> leak(const Released<std::vector<double>>& sum, double salary) {
  return derive([salary](const std::vector<double>&) { return salary; }, sum);
}
