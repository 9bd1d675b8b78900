// must say: cannot derive from .final. base
#include "parley/privacy/values.h"

using namespace parley::privacy;

struct Unpaid : Released<double> {
  double secret;
  const double& value() const { return secret; }
};

Released<double> out(const Unpaid& unpaid) {
  return derive([](const double& value) { return value; }, unpaid);
}
