// Laws on one grid, each added up as often as it occurs, by FFT: the product of the powers of their transforms.
//
// The error is bounded from the 2-norms of what was transformed (Higham 2002, Theorem 24.2),
// carried through the powers:
//   |F^k - (F + dF)^k| <= k |dF| (|F| + |dF|)^(k-1)       by Cauchy-Schwarz over frequencies with the 2-norm of dF,
// plus the rounding of the power itself. Where the product is below e^-90 even with every |F| widened by its error it
// is set to 0; that costs e^-90 per frequency.
#pragma once
#include <cstdint>
#include <span>

#include "parley/privacy/accounting/tilted_grid.h"

namespace parley::privacy::accounting {

// The longest transform.
inline constexpr std::int64_t kLargestTransform = std::int64_t{1} << 21;
// The next length that the transform is quick at: a power of two times 1, 3, 5, 9, 15 or 25, at most the longest.
std::int64_t transform_size(double size);

struct CentredLaw {
  TiltedGrid law;
  std::int64_t shift = 0;  // grid points that it is moved down by, so that its mean is near 0
  double count = 0;
};

// The masses of the sum, periodic: the mass of n grid points, n from the sum of the laws' count * shift, is at n modulo
// the size. They stay as they are until the next call on this thread.
struct ComposedMasses {
  std::span<const double> mass;
  double error = 0;  // no mass is off by more
};
ComposedMasses composed(std::span<const CentredLaw> laws, std::int64_t size);

}  // namespace parley::privacy::accounting
