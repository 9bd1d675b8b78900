// argmin_d  g'd + 1/2 d'Hd + sum_j l1_j |u_j + d_j| + l2_j/2 (u_j + d_j)^2,   H dense and positive semidefinite: one
// Cholesky factorisation without l1, coordinate descent that ends in such (exact/exact_sparse_quadratic.h) with it.
#pragma once
#include <span>
#include <vector>

#include "parley/glm/penalties.h"

namespace parley::algorithms {

struct NewtonModel {
  std::span<const double> triangle;  // of H, the upper one, row by row
  std::span<const double> gradient;  // g
  std::span<const double> point;     // u
  glm::Penalty penalty;
  std::vector<char> penalised;  // 1 or 0 of each coordinate: l1_j and l2_j are the penalty's, or 0
  double tolerance = 0;         // of an optimality condition
};

std::vector<double> newton_direction(const NewtonModel& model);

}  // namespace parley::algorithms
