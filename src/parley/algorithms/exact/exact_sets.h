// `exact` over a box, or over a product of l1 balls: sets whose linear minimiser and projection are known part by part.
//
//   minimise over w in X   F(w) = 1/n sum_i phi(<x_i, w>, y_i) + l2/2 ||w||^2
//
//   X = { |w_j| <= M }                                  (box)
//   X = { ||w_B||_1 <= r / G for each of G groups B }   (l1_radius with l1_groups)
//
// Accelerated projected gradient steps (Beck and Teboulle 2009, begun anew where momentum points uphill) find the face
// of X that the optimum lies on; Newton's method on that face finds the optimum there, each step by conjugate gradients
// that see nothing but the face: coordinates at a bound, or at zero in a ball, stay, and within a ball that is full the
// sizes keep their sum. A face that is too small is left again by the gradient steps, one that is too large by the cut
// at its border. The certificate is the Frank-Wolfe gap max over s in X of <grad F(w), w - s> >= F(w) - min F.
#pragma once
#include "parley/algorithms/exact/exact_settings.h"
#include "parley/algorithms/parts/fit.h"
#include "parley/core/result.h"

namespace parley::algorithms {

// The problem must have passed `check`, and has a box or l1_groups.
Result<Fit> exact_sets(const Problem& problem, const ExactSettings& settings, const Observer& observer);

}  // namespace parley::algorithms
