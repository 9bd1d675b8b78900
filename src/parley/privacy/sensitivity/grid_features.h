// Features on a public grid, so that sums over records are exact (exact_sums.h).
//
// Every stored value of column j is clipped to its public bound and rounded to a whole multiple of 2^e_j. With a bits
// for a feature, b bits for a record's derivative and
//
//   m 2^a 2^b <= 2^53
//
// every sum over records of their products is a whole multiple of one power of two, and at most 2^53 of them: double
// arithmetic is exact, in any order, by any kernel. a, b and e_j depend on a public number of records and the bounds
// alone. Whole numbers up to 2^15 and 0/1 columns are on the grid already.
//
// m is the largest number of records that the public considers possible: n itself under replace-one. Add-remove hides
// n, so the job states a number N, about n; grids are made for m = 4N records, and a mean is a sum divided by N. With n
// in their place, taking one record away at n = 2^k would round everybody else's values anew.
//
// The matrix keeps its column scale c: a feature is x_ij = S_ij c_j with S on the grid. Proof note: exact_sums.md.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/linalg/matrix.h"
#include "parley/privacy/units.h"

namespace parley::privacy {

// A norm computed from `terms` squares, added one after another, times this is not below the true one: its rounding is
// at most (terms/2 + 4) 2^-53 of it, and the last number covers a few hundred products and quotients made with it.
inline double norm_room(std::size_t terms) {
  return 1 + (static_cast<double>(terms) * 0x1p-52 + 1e-12);
}

class GridFeatures {
 public:
  static constexpr std::size_t kMostStated = std::size_t{1} << 28;
  static constexpr std::size_t kMarginOfCount = 4;  // a table may have this many times the records that were stated

  // `bounds`: |x_ij| <= bounds[j] of the features as they are, scale included; d and bounds are public. What lies
  // outside its bound is clipped, what is not a number becomes 0. `stated`: N; absent: n is public.
  static Result<GridFeatures> make(const linalg::Matrix& features, std::span<const double> bounds,
                                   std::optional<std::size_t> stated = std::nullopt);

  [[nodiscard]] const linalg::Matrix& matrix() const { return matrix_; }
  // Whether sums over these records can be released under the relation: add-remove needs a stated number.
  [[nodiscard]] Result<void> check(Neighbours neighbours) const;
  [[nodiscard]] double records() const { return records_; }            // public: N, or n
  [[nodiscard]] double most_records() const { return most_records_; }  // public: m, never below n
  // n itself: for the size of vectors, never for a number that is released.
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(matrix_.rows()); }
  [[nodiscard]] std::size_t columns() const { return static_cast<std::size_t>(matrix_.cols()); }

  [[nodiscard]] double bound(std::size_t column) const { return stored_bound_[column] * scale(column); }  // of |x_ij|
  [[nodiscard]] double stored_bound(std::size_t column) const { return stored_bound_[column]; }           // of |S_ij|
  [[nodiscard]] double scale(std::size_t column) const {
    const auto scales = matrix_.column_scale();
    return scales.empty() ? 1.0 : scales[column];
  }
  [[nodiscard]] double steps_in_bound(std::size_t column) const { return steps_[column]; }  // of the column's grid
  // v with v_j near w_j c_j such that every sum over columns of S_ij v_j is exact: a margin is then the
  // same number whichever way it is added up, so that no other record has a say in its last digits.
  // Proof note: exact_sums.md, "Margins".
  void exact_weights(std::span<const double> weights, std::span<double> out) const;
  // Binary digits that a record's derivative may have.
  [[nodiscard]] int derivative_bits() const { return derivative_bits_; }
  // Values that were outside their bounds or not numbers: for the person who holds the data, not for release.
  [[nodiscard]] std::size_t clipped() const { return clipped_; }

 private:
  explicit GridFeatures(linalg::Matrix matrix) : matrix_(std::move(matrix)) {}
  linalg::Matrix matrix_;
  std::vector<double> stored_bound_;
  std::vector<double> steps_;
  int derivative_bits_ = 0;
  double records_ = 0;
  double most_records_ = 0;
  bool count_is_stated_ = false;
  std::size_t clipped_ = 0;
};

}  // namespace parley::privacy
