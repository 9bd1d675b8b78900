#include "parley/privacy/mechanisms/fixed_exp2.h"

#include "parley/privacy/mechanisms/exact_arithmetic.h"

namespace parley::privacy {

FixedExp2::FixedExp2() {
  // 2^(-1/256) by eight square roots of 1/2, with so many bits that 255 truncated products stay exact in the
  // first 64.
  constexpr unsigned kBits = 256;
  Integer root = Integer(1) << (kBits - 1);
  for (int i = 0; i < 8; ++i) root = sqrt(Integer(root << kBits));
  Integer power = Integer(1) << kBits;
  for (auto& entry : powers_) {
    entry = low_word(power >> (kBits - kResultBits));
    power = (power * root) >> kBits;
  }
}

const FixedExp2& FixedExp2::table() {
  static const FixedExp2 kTable;
  return kTable;
}

}  // namespace parley::privacy
