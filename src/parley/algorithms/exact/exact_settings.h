// When the reference optimum is good enough (exact.h).
#pragma once

#include "parley/core/toml.h"

namespace parley::algorithms {

struct ExactSettings {
  // Done when Fit::gap, an upper bound of F - min F, is at most tolerance * min(1, F): small beside 1 and beside the
  // optimum. Smooth problems without l2 have no such bound; there Fit::gap is the Euclidean norm of the gradient by
  // columns whose values have about size 1 (root of the mean square, to a power of two), compared with
  // tolerance * max(1, its norm at 0).
  double tolerance = 1e-10;
  int max_iterations = 1000;  // of the outer method: Newton steps, or rounds over working sets

  static ExactSettings read(Toml& settings);  // its keys of [algorithm]
};

}  // namespace parley::algorithms
