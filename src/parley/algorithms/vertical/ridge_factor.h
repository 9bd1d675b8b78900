// Solves   argmin_x lambda/2 ||x||^2 + rho/2 ||D x - c||^2   for many c with one factorisation, S = lambda/rho:
//
//   columns <= records   (D'D + S I) x = D'c                     d x d
//   otherwise            x = D'(D D' + S I)^-1 c                 n x n, the Woodbury identity
//
// D may have a last column of ones.
#pragma once
#include <span>
#include <vector>

#include "parley/algorithms/vertical/column_share.h"
#include "parley/core/result.h"

namespace parley::algorithms {

class RidgeFactor {
 public:
  static Result<RidgeFactor> make(const ColumnShare& share, double ridge);  // ridge: S > 0

  [[nodiscard]] std::vector<double> solve(const ColumnShare& share, std::span<const double> target) const;

 private:
  bool by_records_ = false;  // the n x n form
  std::size_t size_ = 0;
  std::vector<double> factor_;
};

// D x, the column of ones included.
std::vector<double> margins_of(const ColumnShare& share, std::span<const double> weights);

}  // namespace parley::algorithms
