// must say: what is derived may use released and public values only
#include "parley/privacy/values.h"

using namespace parley::privacy;

struct Unpaid {
  double secret;
  const double& value() const { return secret; }
  static bool claimed() { return true; }
};

Released<double> out(double secret) {
  return derive([](const double& value) { return value; }, Unpaid{secret});
}
