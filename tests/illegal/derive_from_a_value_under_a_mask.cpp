// must say: what is derived may use released and public values only|has no member named 'value'
#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

auto out(const UnderMask<std::uint64_t>& share) {
  return derive([](const auto& words) { return words; }, share);
}
