// What a party of ADMM sharing solves in every round, for its columns D (n x d) and a target c:
//
//   argmin_x   l1 ||x||_1 + l2/2 ||x||^2 + rho/2 ||D x - c||^2     subject to   |x_j| <= box
//
//   l2 alone, or nothing    one factorisation for all rounds            ridge_factor.h
//                           conjugate gradients where it is too large   ridge_gradients.h
//   l1 or a box             coordinate descent, then Newton steps       block_descent.h
//
// The penalties are those of the sum over records: l1 and l2 of the job times n. D may have a last column of ones.
#pragma once
#include <limits>
#include <span>
#include <vector>

#include "parley/algorithms/vertical/column_share.h"
#include "parley/core/result.h"

namespace parley::algorithms {

struct BlockPenalty {
  double l1 = 0;
  double l2 = 0;
  double box = std::numeric_limits<double>::infinity();
};

class BlockSolver {
 public:
  virtual ~BlockSolver() = default;
  // x: where the search begins, the answer of the last round; what it finds. Equal arguments give equal results,
  // whatever was solved before.
  virtual Result<void> solve(const ColumnShare& share, std::span<const double> target, std::span<double> x) = 0;
  // From now on with another rho.
  virtual Result<void> set_rho(const ColumnShare& share, double rho) = 0;
};

// The largest ||d_j||^2; fails where it is no number, so where no solver can work.
Result<double> largest_square(const ColumnShare& share);

// D x and D'v, the column of ones included.
std::vector<double> margins_of(const ColumnShare& share, std::span<const double> weights);
// D x of every class, one after another; so are their weights.
std::vector<double> class_margins_of(const ColumnShare& share, std::span<const double> weights);
std::vector<double> products_of(const ColumnShare& share, std::span<const double> values);

// || x - prox(x - D'v) ||^2, the prox of the penalty with a step of 1: a party's term of V^t, where v is the gradient of
// the rest (admm_sharing.h). Zero at an optimum.
double block_residual(const ColumnShare& share, const BlockPenalty& penalty, std::span<const double> pull,
                      std::span<const double> x);

}  // namespace parley::algorithms
