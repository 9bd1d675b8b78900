// Losses over arrays: threaded, vectorised for the CPU at hand, the same result for every number of
// threads and every instruction set.
//
// Margins of K classes are stored class by class: margins[k*n + i]. For scalar losses K = 1.
#pragma once
#include <span>

#include "parley/glm/loss.h"

namespace parley::glm {

// 1/n sum_i phi(m_i, y_i). K is margins.size() / labels.size().
double mean_loss(Task task, std::span<const double> margins, std::span<const double> labels);

// out[k*n + i] = d phi(m_i, y_i) / d m_ik, not divided by n. `out` may be `margins`.
void loss_derivatives(Task task, std::span<const double> margins, std::span<const double> labels,
                      std::span<double> out);

// Both in one pass; returns the mean loss.
double mean_loss_and_derivatives(Task task, std::span<const double> margins, std::span<const double> labels,
                                 std::span<double> out);

// Scalar losses: out[i] = phi''(m_i, y_i). Softmax: out[k*n + i] = p_ik, from which Hessian products follow.
void loss_curvatures(Task task, std::span<const double> margins, std::span<const double> labels, std::span<double> out);

// softmax(m_i) of every row; out[k*n + i]. For one class: the logistic probability of +1.
void class_probabilities(std::span<const double> margins, std::size_t rows, std::span<double> out);

}  // namespace parley::glm
