// The certified optimum of problems whose solution is sparse: l1 penalty, elastic net, l1 ball.
//
//   minimise over v = (W, b)   1/n sum_i phi(<x_i, W> + b, y_i) + l1 ||W||_1 + l2/2 ||W||^2
//   subject to                 ||W||_1 <= radius                                  (when given)
//
// Proximal Newton on working sets. One round: margins and the full gradient; a dual point and its
// gap; the working set (the support and the strongest violators of optimality); the explicit
// Hessian on it; the minimiser of the quadratic model under the penalty or on the ball; a line
// search. Lee, Sun & Saunders 2014 (proximal Newton, inexact steps); Yuan, Ho & Lin 2012 (newGLMNET);
// Massias, Gramfort & Salmon 2018 (working sets chosen by the dual point).
//
// Certificate. With theta any dual feasible point and v = X'theta - l2 w,
//
//   gap = sum_i [f_i(m_i) + f_i*(-theta_i) + theta_i m_i]
//         + sum_j [l1 |w_j| - v_j w_j] + radius * max(0, |v|_inf - l1)
//
// bounds F - min F from above; see exact_sparse_certificate.h. A run has converged when gap <= tolerance * min(1, F),
// or, where rounding ends progress before that, when gap <= tolerance * max(1, F): the objective of huge labels cannot
// be resolved to 1e-10.
#pragma once
#include "parley/algorithms/exact/exact_settings.h"
#include "parley/algorithms/parts/fit.h"
#include "parley/core/result.h"

namespace parley::algorithms {

// Needs l1 > 0 or an l1_radius, and a problem that passed check().
Result<Fit> exact_sparse(const Problem& problem, const ExactSettings& settings, const Observer& observer);

}  // namespace parley::algorithms
