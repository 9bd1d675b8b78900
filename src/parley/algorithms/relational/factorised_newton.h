// The optimum over a join that is never made: Newton's method with the gradient and the Hessian from the tables.
//
//   a_j   =  sum_i x_{i,p_i(j)}' theta_i                                              N gathers a table
//   g_i   =  (1/N) X_i' scatter_i(phi')  +  l2 theta_i
//   H_ik  =  (1/N) X_i' W_ik X_k  +  [i = k] l2 I,    W_ik[t, s] = sum of phi''_j over rows with p_i = t and p_k = s
//
// W_ii is diagonal. Of two tables W has at most as many entries as there are rows, and as there are pairs of tuples: at most
// N + min(N, n_i n_k) d_k + n_i d_i d_k operations, i the table with fewer tuples. With K classes there is a block for each pair of classes. Where the Hessian would be
// too large to factor, conjugate gradients use its products alone: a gather, a scatter and one product with each table.
//
// Newton's method itself, its search and its certificate are those of one table (algorithms/exact/newton.h).
#pragma once
#include "parley/algorithms/exact/exact_settings.h"
#include "parley/algorithms/parts/fit.h"
#include "parley/algorithms/relational/joined_problem.h"
#include "parley/core/result.h"

namespace parley::algorithms {

// Fit::weights: class by class, in each the tables' columns one table after another. A penalised intercept is a column of
// ones of some table.
Result<Fit> exact_over_join(const JoinedProblem& problem, const ExactSettings& settings, const Observer& observer);

}  // namespace parley::algorithms
