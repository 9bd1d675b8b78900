// must say: use of deleted function
#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

OneTimeMask again(const OneTimeMask& mask) { return mask; }
