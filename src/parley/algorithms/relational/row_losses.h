// The losses of a join's rows, at margins whose classes are neighbours. Labels may be targets that left with noise, for
// which squared and logistic losses are corrected (glm/unbiased.h).
#pragma once
#include <cstddef>
#include <span>

#include "parley/glm/loss.h"

namespace parley::algorithms {

struct RowLoss {
  glm::Task task = glm::Task::kLogistic;
  std::size_t classes = 1;  // c: margins of a row
};

// The sum over the rows, one for each label.
double loss_sum(const RowLoss& loss, std::span<const double> margins, std::span<const double> labels);
// The derivatives in the margins, in their place; returns the sum of the losses.
double losses_and_derivatives(const RowLoss& loss, std::span<double> margins, std::span<const double> labels);
// z = argmin phi(z, y) + rho/2 |z - v|^2 of every row; `out` may be `v`.
void proximal_points(const RowLoss& loss, double rho, std::span<const double> v, std::span<const double> labels,
                     std::span<double> out);

}  // namespace parley::algorithms
