// How much the mean loss bends along one coordinate, M_j >= sup of its second partial derivative:
//
//   of the data      c/n sum_i x_ij^2
//   of the bounds    c B_j^2                                            |x_ij| <= B_j is public
//   private          c B_j^2 min(1, (max(0, v_j) + kappa sigma)/n + g)
//                    v_j = sum_i (x_ij / B_j)^2 + N(0, sigma^2) is released, g the grain it is counted in
//
// with c = 1 (squared), 1/4 (logistic, softmax), 2 (squared hinge), one M_j per column and 1 in place of x_ij
// for an intercept.
//
// The private constants are one release of all columns, paid from the same target as the steps (a share
// kSmoothnessShare of what one Gaussian release at the whole target would cost). kappa = sqrt(2 ln(d / 0.01)): with
// probability 0.99 no M_j is below that of the data, so that steps of size 1/M_j do not raise the objective by
// themselves. kappa sigma / n is also a floor, and a public one: noise cannot make a step arbitrarily long. Scores are
// divided by sqrt(M_j), so the smallest M_j decides the noise of a selection: no column is taken for less than
// kLeastShare of the largest share of its bound, which is a function of what was released. Proof note: smoothness.md.
#pragma once
#include <optional>
#include <vector>

#include "parley/algorithms/parts/fit.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/core/result.h"

namespace parley::algorithms {

inline constexpr double kSmoothnessShare = 0.1;
inline constexpr double kLeastShare = 0.25;

// c: sup of the second derivative of the loss along one margin.
double coordinate_curvature(glm::Task task);

// Of the bounds; the intercept's last when there is one.
std::vector<double> smoothness_of_bounds(const Problem& problem);

// What a private estimate will release, from public numbers.
struct SmoothnessRelease {
  double norm = 1;             // of one record's squares, in squares of the bounds
  privacy::Deviation noise{};  // sigma
  privacy::Event event{};
  double floor = 0;  // no M_j is below this share of c B_j^2
};
// Nothing for smoothness = "bounds". An error when the floor is not below 1: such an estimate could say nothing.
Result<std::optional<SmoothnessRelease>> plan_smoothness(const PrivateTerms& terms);

// Draws it, or takes the bounds. The gate must hold the event in its plan.
Result<std::vector<double>> private_smoothness(const Problem& problem, const std::optional<SmoothnessRelease>& release);

}  // namespace parley::algorithms
