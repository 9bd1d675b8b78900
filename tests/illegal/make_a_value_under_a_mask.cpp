// must say: is private within this context
#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

UnderMask<std::uint64_t> bare(std::vector<std::uint64_t> words) { return UnderMask<std::uint64_t>(words); }
