// must say: is private within this context
#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

std::uint64_t first(const UnderMask<std::uint64_t>& share) { return share.words_[0]; }
