#include "parley/algorithms/fit.h"
