// Features on a public grid, so that sums over records are exact (exact_sums.h).
//
// Every stored value of column j is clipped to its public bound and rounded to a whole multiple of 2^e_j. With a bits
// for a feature and b bits for a record's derivative, n 2^a 2^b <= 2^53, every sum over records of their products is
// a multiple of one power of two below 2^53 of them: double arithmetic is exact, in any order, by any kernel.
// a, b and e_j depend on n and the bounds alone. Whole numbers up to 2^15 and 0/1 columns are on the grid already.
//
// The matrix keeps its column scale c: a feature is x_ij = S_ij c_j with S on the grid. Proof note: exact_sums.md.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/linalg/matrix.h"

namespace parley::privacy {

class GridFeatures {
 public:
  // `bounds`: |x_ij| <= bounds[j] of the features as they are, scale included; n, d and bounds are public. What lies
  // outside its bound is clipped, what is no number becomes 0.
  static Result<GridFeatures> make(const linalg::Matrix& features, std::span<const double> bounds);

  [[nodiscard]] const linalg::Matrix& matrix() const { return matrix_; }
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(matrix_.rows()); }
  [[nodiscard]] std::size_t columns() const { return static_cast<std::size_t>(matrix_.cols()); }

  [[nodiscard]] double bound(std::size_t column) const { return stored_bound_[column] * scale(column); }  // of |x_ij|
  [[nodiscard]] double stored_bound(std::size_t column) const { return stored_bound_[column]; }           // of |S_ij|
  [[nodiscard]] double scale(std::size_t column) const {
    const auto scales = matrix_.column_scale();
    return scales.empty() ? 1.0 : scales[column];
  }
  [[nodiscard]] double steps_in_bound(std::size_t column) const { return steps_[column]; }  // of the column's grid
  // Binary digits that a record's derivative may have.
  [[nodiscard]] int derivative_bits() const { return derivative_bits_; }
  // Values that were outside their bounds or no numbers: for the person who holds the data, not for release.
  [[nodiscard]] std::size_t clipped() const { return clipped_; }

 private:
  explicit GridFeatures(linalg::Matrix matrix) : matrix_(std::move(matrix)) {}
  linalg::Matrix matrix_;
  std::vector<double> stored_bound_;
  std::vector<double> steps_;
  int derivative_bits_ = 0;
  std::size_t clipped_ = 0;
};

}  // namespace parley::privacy
