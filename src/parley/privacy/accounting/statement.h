// A privacy guarantee in words, for people who decide about data and do not read formulas.
#pragma once
#include <string>

#include "parley/privacy/units.h"

namespace parley::privacy {

// "Any single person could change the probability of any outcome by at most a factor 2.72, except with probability
// 1e-06." Numbers are rounded towards less privacy. An infinite epsilon is called what it is.
std::string in_words(double epsilon, double delta, Neighbours neighbours, Unit unit = Unit::kRecord);

// At least `value`, with this many significant digits, without trailing zeros: "0.9843", "1e-06", "inf".
std::string rounded_up(double value, int digits);

}  // namespace parley::privacy
