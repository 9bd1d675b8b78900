// Solves   argmin_x l1 ||x||_1 + l2/2 ||x||^2 + rho/2 ||D x - c||^2   over   |x_j| <= box,   where l1 > 0 or there is a box.
// With G = D'D, b = D'c, a = l1/rho, S = l2/rho:
//
//   sweeps   coordinate descent on the covariance form (Friedman, Hastie & Tibshirani 2010, Section 2.2), from the last x:
//            x_j <- clip( soft(b_j - (G x)_j + G_jj x_j, a) / (G_jj + S), box )
//   steps    once a sweep leaves signs and bounds as they were, what remains is linear in the free coordinates F:
//            (G_FF + S + tiny) dx_F = b_F - a sign(x_F) - (G x)_F - S x_F      taken where signs and bounds stand it
//            `tiny` makes a singular G_FF solvable; the step is repeated, so it shifts nothing
//
// A column of G is made when its coordinate first moves and is then kept. The factor of G_FF serves until F changes, so
// late rounds cost two triangles and D'c.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "parley/algorithms/vertical/block_solver.h"

namespace parley::algorithms {

class BlockDescent final : public BlockSolver {
 public:
  explicit BlockDescent(const BlockPenalty& penalty) : penalty_(penalty) {}
  Result<void> solve(const ColumnShare& share, std::span<const double> target, std::span<double> x) override;
  Result<void> set_rho(const ColumnShare& share, double rho) override;

 private:
  // b - G x, kept beside x.
  struct Search {
    std::span<double> x;
    std::vector<double> left;
    double small = 0;  // of `left`, below which it is rounding
  };
  const std::vector<double>& gram_column(const ColumnShare& share, std::size_t j);
  void move(const ColumnShare& share, Search& search, std::size_t j, double to);
  [[nodiscard]] double best(const Search& search, std::size_t j) const;
  bool sweep(const ColumnShare& share, Search& search);  // whether signs and bounds stayed
  [[nodiscard]] double violation(const Search& search) const;
  bool step(const ColumnShare& share, Search& search);  // whether signs and bounds stand the whole step
  bool factor(const ColumnShare& share, const Search& search);

  BlockPenalty penalty_;
  double threshold_ = 0, ridge_ = 0;       // a, S
  std::vector<double> diagonal_;           // of G
  std::vector<std::vector<double>> gram_;  // by columns; empty: not made
  std::vector<std::size_t> free_;          // F, of the factor
  std::vector<double> factor_;
  double factored_ridge_ = -1;
};

}  // namespace parley::algorithms
