// The largest |s x_l - c_l| and where it is: the whole selection of a Gram-mode step, so it is vectorised for
// the CPU at hand (a maximum does not depend on the order, so the result does not either).
#pragma once
#include <cstddef>
#include <span>

namespace parley::algorithms {

struct Largest {
  std::size_t index = 0;  // the smallest one in a tie
  double size = 0;
};

Largest largest_difference(double s, std::span<const double> x, std::span<const double> c);

}  // namespace parley::algorithms
