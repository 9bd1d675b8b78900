// must say: what is derived may use released and public values only
#include <vector>

#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

Released<double> leak(const Released<std::vector<double>>& sum, const Private<double>& salary) {
  return derive([](const std::vector<double>&, const double& s) { return s; }, sum, salary);
}
