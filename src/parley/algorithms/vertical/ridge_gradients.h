// Solves   argmin_x l2/2 ||x||^2 + rho/2 ||D x - c||^2   where both sides of D are too large for a square, by
// preconditioned conjugate gradients on  (D'D + S I) x = D'c,  S = l2/rho, from the last x. The preconditioner is the
// diagonal. Without l2 the system may be singular and stays consistent: the gradients never leave the rows' span.
#pragma once
#include "parley/algorithms/vertical/block_solver.h"

namespace parley::algorithms {

class RidgeGradients final : public BlockSolver {
 public:
  explicit RidgeGradients(double l2) : l2_(l2) {}
  Result<void> solve(const ColumnShare& share, std::span<const double> target, std::span<double> x) override;
  Result<void> set_rho(const ColumnShare& share, double rho) override;

 private:
  double l2_;
  double ridge_ = 0;              // S
  std::vector<double> diagonal_;  // of D'D + S I
};

}  // namespace parley::algorithms
