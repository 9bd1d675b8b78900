// Stochastic gradient descent on Poisson samples with per-record clipping, and its private form (Abadi et al.
// 2016; Bassily, Smith, Thakurta 2014).
//
//   minimise    F(W) = 1/n sum_i phi(<x_i, W> + b, y_i) + l1 ||W||_1 + l2/2 ||W||^2
//
//   W_0 = 0;  for t = 0, ..., T-1
//     every record joins the batch B_t with probability q, independently
//     s_t     = sum over B_t of c_i g_i                 g_i = phi'_i x_i,  c_i = min(1, C / ||g_i||)
//     s_t    += N(0, (z C)^2 I)                         (private: released by the gate)
//     W_{t+1} = prox_h(W_t - h s_t / (q n) + beta (W_t - W_{t-1}))              l1, l2 by their proximal map
//     W_{t+1} = nearest point of the l1 ball or of the k-sparse vectors         (when the model has such a constraint)
//   result: W_T, or the mean of the last half of the iterates
//
// A gradient of a linear model is a number times a row: it is never written down. The step h, the momentum
// beta, the rate q, the number of steps T and the clip C default to formulas in public numbers (sgd_plan.h).
// Everything after the release of s_t is post-processing.
#pragma once
#include "parley/algorithms/parts/fit.h"
#include "parley/algorithms/sgd/sgd_settings.h"
#include "parley/core/result.h"
#include "parley/core/toml.h"

namespace parley::algorithms {

Result<Fit> sgd(const Problem& problem, const SgdSettings& settings, const Observer& observer);

}  // namespace parley::algorithms
