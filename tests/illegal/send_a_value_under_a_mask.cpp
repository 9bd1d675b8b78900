// must say: only a Released value or a fault code may travel
#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

using Share = UnderMask<std::uint64_t>;

Outgoing<Share> answer(const Share& share) { return share; }
