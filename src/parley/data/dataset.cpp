#include "parley/data/dataset.h"
