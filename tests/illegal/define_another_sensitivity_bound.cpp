// must say: redefinition of .*SensitivityBound
#include "parley/privacy/gate.h"

// Were it defined somewhere else, this one would be the friend of every Sensitive and of every Private.
namespace parley::privacy {
struct SensitivityBound {
  static Sensitive<double, Linf> lie(double value) { return {value, 1e-9, Neighbours::kReplaceOne, Unit::kRecord}; }
  template <class T>
  static const T& read(const Private<T>& value) {
    return PrivateReader::read(value);
  }
};
}  // namespace parley::privacy
