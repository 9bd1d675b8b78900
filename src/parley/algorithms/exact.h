// The reference optimum of a convex problem on one site, with a certificate of how close it is.
//
//   minimise over (W, b)   F(W, b) = 1/n sum_i phi(<x_i, W> + b, y_i) + l1 ||W||_1 + l2/2 ||W||^2
//   subject to             ||W||_1 <= l1_radius                                  (when given)
//
// Without l1 and l1_radius F is smooth: exact_smooth (Newton's method in the form that the shape
// of the data makes cheapest). Otherwise: exact_sparse. Problems with `sparsity` are not convex and
// are refused.
#pragma once
#include "parley/algorithms/fit.h"
#include "parley/core/result.h"

namespace parley::algorithms {

struct ExactSettings {
  // Done when Fit::gap, an upper bound of F - min F, is at most tolerance * min(1, F): small beside 1
  // and beside the optimum. Smooth problems without l2 have no such bound; there Fit::gap is the
  // Euclidean norm of the gradient by columns whose values have about size 1 (root of the mean square, to a power of two),
  // compared with tolerance * max(1, its norm at 0).
  double tolerance = 1e-10;
  int max_iterations = 1000;  // of the outer method: Newton steps, or rounds over working sets
};

// Settings, objective and labels that every exact solver relies on: finite numbers in range, one
// label per row, labels of the kind the task needs. Features are checked where they are first read.
Result<void> check(const Problem& problem, const ExactSettings& settings);

Result<Fit> exact(const Problem& problem, const ExactSettings& settings, const Observer& observer);

}  // namespace parley::algorithms
