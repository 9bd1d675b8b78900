// The reference optimum of a convex problem on one site, with a certificate of how close it is.
//
//   minimise over (W, b)   F(W, b) = 1/n sum_i phi(<x_i, W> + b, y_i) + l1 ||W||_1 + l2/2 ||W||^2
//   subject to             ||W||_1 <= l1_radius, or an l1 ball for each group    (when given)
//                          |W_j| <= box                                          (when given)
//
// Without l1 and l1_radius F is smooth: exact_smooth (Newton's method in the form that the shape
// of the data makes cheapest). A box or groups: exact_sets. Weights of records or counts (Poisson): warm_newton.
// Otherwise: exact_sparse. Problems with `sparsity` are not convex and
// are refused.
#pragma once
#include "parley/algorithms/exact/exact_settings.h"
#include "parley/algorithms/parts/fit.h"
#include "parley/core/result.h"
#include "parley/core/toml.h"

namespace parley::algorithms {

Result<Fit> exact(const Problem& problem, const ExactSettings& settings, const Observer& observer);

}  // namespace parley::algorithms
