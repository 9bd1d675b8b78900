// A solver's own copy of the rows of A, in as few bytes as the products with it need.
//
// Columns are renumbered by falling number of nonzeros, columns without any are left out: the
// vectors that a product gathers from and scatters to then stay in the first-level cache for most
// entries (columns of text are as unequal as words). A constant column for the intercept can be
// appended; it is always the last. Column numbers take 16 bits where they fit; values are left out
// for 0/1 data, are float where that is exact, and double otherwise, with a float copy beside it
// for the products of `curvature_product`, where the solver corrects the rounding by itself.
//
// Every product cuts the rows at places that depend on the data alone and adds the parts in order,
// so results do not depend on the number of threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parley/linalg/matrix.h"

namespace parley::algorithms {

class CompactRows {
 public:
  CompactRows(const linalg::Matrix& matrix, bool constant_column);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }  // the constant one included
  [[nodiscard]] std::size_t nonzeros() const { return offsets_.back(); }
  [[nodiscard]] double pair_count() const { return pair_count_; }  // sum over rows of (entries)^2
  // Original number of a column; -1 for the constant one.
  [[nodiscard]] linalg::Index original(std::size_t column) const { return originals_[column]; }

  void multiply(std::span<const double> w, std::span<double> out) const;             // out = A w
  void multiply_transposed(std::span<const double> r, std::span<double> out) const;  // out = A'r
  // out = A' diag(c) A v in single precision; rows with c = 0 cost nothing.
  void curvature_product(std::span<const double> c, std::span<const double> v, std::span<double> out) const;
  void curvature_product_in_double(std::span<const double> c, std::span<const double> v,
                                   std::span<double> out) const;
  void curvature_diagonal(std::span<const double> c, std::span<double> out) const;  // of A' diag(c) A
  // Lower triangle of A' diag(c) A, row by row in a full square.
  void gram(std::span<const double> c, std::span<double> out) const;
  // Lower triangle of A A'.
  void kernel(std::span<double> out) const;

  // K right-hand sides side by side: w is columns x K, out rows x K, entry (i, k) at i*K + k.
  void multiply(std::span<const double> w, std::span<double> out, std::size_t width) const;
  void multiply_transposed(std::span<const double> r, std::span<double> out, std::size_t width) const;

  // Calls f(column, value) for the entries of row i.
  template <class F>
  void for_each_in_row(std::size_t i, const F& f) const;

 private:
  template <class F>
  void with_types(const F& f) const;
  template <class F>
  void with_single_types(const F& f) const;
  template <class Number, class Body>
  void scatter(std::span<double> out, std::size_t width, const Body& body) const;

  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  double pair_count_ = 0;
  std::vector<linalg::Index> originals_;
  std::vector<std::size_t> offsets_;
  std::vector<std::uint16_t> short_columns_;  // one of the two
  std::vector<std::uint32_t> long_columns_;
  std::vector<float> single_;        // empty for 0/1 data
  std::vector<double> double_;       // only where float is not exact
  std::vector<double> dense_;        // rows x columns, kept when most entries are not zero
  std::vector<std::size_t> chunks_;  // row borders
};

template <class F>
void CompactRows::for_each_in_row(std::size_t i, const F& f) const {
  for (std::size_t k = offsets_[i]; k < offsets_[i + 1]; ++k) {
    const std::size_t column = short_columns_.empty() ? long_columns_[k] : short_columns_[k];
    f(column, !double_.empty() ? double_[k] : !single_.empty() ? static_cast<double>(single_[k]) : 1.0);
  }
}

}  // namespace parley::algorithms
