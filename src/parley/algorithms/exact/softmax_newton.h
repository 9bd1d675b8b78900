// The softmax loss for Newton's method: K margins per row, p_i = softmax(margins of row i).
//
//   gradient    A'(P - Y) / n                    Y the one-hot labels
//   curvature   row i:  diag(p_i) - p_i p_i'     so H V = A' U / n,  u_i = p_i * (t_i - <p_i, t_i>),  T = A V
//
// The Newton system is formed and factored while (columns x K) is small, else solved by conjugate gradients.
//
// Dual value with free intercepts, for rows pi_i of probabilities with sum_i pi_i = sum_i y_i:
//
//   D(Pi) = -1/n sum_ik pi_ik log pi_ik - |A'(Pi - Y) / n|^2 / (2 l2)
//
// P meets the sums only at the optimum. With a surplus e_k = sum_i (p_ik - y_ik) the rows
//
//   (1 - s) p_i + s q,   q_k = (s n_k - (1 - s) e_k) / (s n)
//
// meet them, and are probabilities as soon as s >= e_k / (n_k + e_k) for every class.
#pragma once
#include <memory>
#include <span>

#include "parley/algorithms/exact/compact_rows.h"
#include "parley/algorithms/exact/newton.h"

namespace parley::algorithms {

// Weights are numbered column * K + class. `rows` and `penalties` must outlive the problem.
std::unique_ptr<NewtonProblem> softmax_problem(const Problem& problem, const CompactRows& rows,
                                               std::span<const double> penalties);

}  // namespace parley::algorithms
