// must say: no matching function
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

void wrong(Ledger& ledger) { (void)Gate::open(ledger, Purse{}, "run"); }
