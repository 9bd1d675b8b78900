// Private gradient descent over a join that nobody materialises, in one process.
//
//   W_0 = 0;  for t = 0, ..., T-1
//     s_t      = sum over the units of their clipped sums                  (unit_sums.h), every unit in every step
//     s_t     += N(0, sigma^2 I)                                           released by the gate, the plan charged before
//     W_{t+1}  = prox_h(W_t - h s_t / N + beta (W_t - W_{t-1}))            l1, l2 by their proximal map
//   result: W_T
//
// N is the number of rows that are used. The steps T, h and beta default to the formulas of algorithms/sgd/sgd_plan.h with
// N in the place of the records. The clip defaults to
//
//   C  =  X min(R, |phi'| at W = 0) sqrt(N / units),      X = the bound of a row's norm
//
// since the derivatives of a unit's m rows, of both signs near a useful model, add up to about sqrt(m) of one.
#pragma once
#include "parley/algorithms/parts/fit.h"
#include "parley/algorithms/relational/joined_problem.h"
#include "parley/algorithms/sgd/sgd_settings.h"
#include "parley/core/result.h"

namespace parley::algorithms {

// Fit::weights: as in factorised_newton.h.
Result<Fit> sgd_over_join(const JoinedProblem& problem, const SgdSettings& settings, const Observer& observer);

}  // namespace parley::algorithms
