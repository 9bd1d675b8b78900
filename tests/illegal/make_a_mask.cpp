// must say: is private within this context
#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

OneTimeMask no_mask(std::size_t size) { return OneTimeMask(std::vector<std::uint64_t>(size, 0), 2); }
