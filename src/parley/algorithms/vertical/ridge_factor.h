// Solves   argmin_x l2/2 ||x||^2 + rho/2 ||D x - c||^2   for many c with one factorisation, S = l2/rho:
//
//   columns <= records   (D'D + S I) x = D'c                     d x d
//   otherwise            x = D'(D D' + S I)^-1 c                 n x n, the Woodbury identity
//
// Without l2, and where rounding leaves nothing of it, the square may be singular. Then S is a proximal term instead,
// which changes where the rounds go and not where they end: from the last x,
//
//   x <- x + (D'D + S I)^-1 (D'(c - D x) - (l2/rho) x)           three times; a fixed point solves the problem without S
//
// so a block whose columns depend on each other has a solution like any other.
#pragma once
#include <span>
#include <vector>

#include "parley/algorithms/vertical/block_solver.h"

namespace parley::algorithms {

class RidgeFactor {
 public:
  // Whether the smaller side is small enough.
  static bool fits(const ColumnShare& share);
  static Result<RidgeFactor> make(const ColumnShare& share, double ridge);  // ridge: S > 0
  // From D'D or D D', the smaller one.
  static Result<RidgeFactor> make(const ColumnShare& share, std::vector<double> square, double ridge);

  [[nodiscard]] std::vector<double> solve(const ColumnShare& share, std::span<const double> target) const;
  // (D'D + S I)^-1 v, v with a number for every column.
  [[nodiscard]] std::vector<double> invert(const ColumnShare& share, std::span<const double> v) const;

 private:
  bool by_records_ = false;  // the n x n form
  std::size_t size_ = 0;
  double ridge_ = 0;
  std::vector<double> factor_;
};

class FactoredRidge final : public BlockSolver {
 public:
  explicit FactoredRidge(double l2) : l2_(l2) {}
  Result<void> solve(const ColumnShare& share, std::span<const double> target, std::span<double> x) override;
  // Another factorisation: size^3 / 3, beside n size^2 for the square, which is kept once rho changes a second time.
  Result<void> set_rho(const ColumnShare& share, double rho) override;

 private:
  Result<RidgeFactor> factored(const ColumnShare& share, double ridge);
  double l2_;
  double ridge_ = 0;  // l2/rho
  bool proximal_ = false;
  int changes_ = 0;             // of rho
  std::vector<double> square_;  // kept where rho changes
  RidgeFactor factor_;
};

// D'D, row by row, the column of ones included.
std::vector<double> gram_of(const ColumnShare& share);

}  // namespace parley::algorithms
