// An immutable n x d matrix A = S diag(c) whose columns are each stored in the smallest type that
// loses nothing: pattern-only for 0/1, int8, int16, float32, float64; sparse or dense by density.
// c is an optional scale per column (x / bound), kept apart so that integers stay integers.
//
// Products with A and its transpose are limited by memory traffic, so fewer bytes is the speed-up.
// A'r runs over columns. A w runs over dense columns in panels of rows and over a row form of the
// sparse columns, which is made when first needed. Work is cut by the matrix alone and partial sums
// are added in order: results do not depend on the number of threads. Between CPU levels (cpu.h)
// they agree to rounding.
//
// Zeros of either sign are not stored in sparse columns; every other value comes back bit for bit. Readers
// refuse values that are not finite; one that gets here all the same is kept, and poisons products as
// it should.
#pragma once
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "parley/linalg/storage.h"

namespace parley::linalg {

struct ColumnView {
  Storage storage = Storage::kFloat64;
  std::size_t count = 0;         // stored entries; rows() when dense
  const Index* rows = nullptr;   // ascending row numbers; null when the column is dense
  const void* values = nullptr;  // count entries of the storage type; null for a binary column
  double scale = 1.0;
};

struct RowEntry {
  Index column;
  double value;  // scale included
};

struct StoredMatrix;  // stored.h

class Matrix {
 public:
  Matrix();
  Matrix(const Matrix&);
  Matrix(Matrix&&) noexcept;  // what was moved from is the empty matrix
  Matrix& operator=(const Matrix&);
  Matrix& operator=(Matrix&&) noexcept;
  ~Matrix();

  // Column-major dense values.
  static Matrix from_dense(Index rows, Index cols, std::span<const double> column_major);
  // Compressed rows: entries of row i are [offsets[i], offsets[i+1]), columns ascending in each row.
  static Matrix from_rows(Index cols, std::span<const std::size_t> offsets, std::span<const Index> columns,
                          std::span<const double> values);

  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index cols() const { return cols_; }
  [[nodiscard]] std::size_t nonzeros() const;  // entries that are not zero
  [[nodiscard]] std::size_t bytes() const;     // memory of the stored matrix, row form included, made or not

  [[nodiscard]] ColumnView column(Index j) const;
  [[nodiscard]] double at(Index i, Index j) const;         // a search: for tests and printing
  [[nodiscard]] std::vector<RowEntry> row(Index i) const;  // nonzeros of row i, columns ascending

  void multiply(std::span<const double> w, std::span<double> out) const;             // out = A w
  void multiply_transposed(std::span<const double> r, std::span<double> out) const;  // out = A'r
  // K right-hand sides at once. Weights are stored class by class, W[k*d + j]; margins and their
  // derivatives row by row, M[i*K + k], so that the K margins of a record are neighbours.
  void multiply(std::span<const double> weights, int classes, std::span<double> margins) const;
  void multiply_transposed(std::span<const double> margins, int classes, std::span<double> weights) const;
  [[nodiscard]] double column_dot(Index j, std::span<const double> r) const;  // <a_j, r>
  void column_axpy(Index j, double a, std::span<double> r) const;             // r += a a_j
  [[nodiscard]] double row_dot(Index i, std::span<const double> w) const;     // <x_i, w>
  void row_axpy(Index i, double a, std::span<double> w) const;                // w += a x_i
  [[nodiscard]] double column_squared_norm(Index j) const;
  [[nodiscard]] double row_squared_norm(Index i) const;
  [[nodiscard]] std::vector<double> column_squared_norms() const;
  [[nodiscard]] std::vector<double> row_squared_norms() const;

  // f(row, value) over the stored entries of column j, rows ascending, scale included; zeros of a
  // dense column too.
  template <class F>
  void for_each_in_column(Index j, F&& f) const;
  // f(column, value) over the nonzeros of row i, columns ascending, scale included. Nothing is allocated.
  template <class F>
  void for_each_in_row(Index i, F&& f) const;
  // The same without the merge: first the 0/1 columns, then the other sparse ones, then the dense ones.
  template <class F>
  void for_each_in_row_by_kind(Index i, F&& f) const;

  // For kernels of other files: columns and rows without scale, and the scale (empty: all ones).
  [[nodiscard]] std::span<const StoredColumn> stored_columns() const {
    return {columns_, static_cast<std::size_t>(cols_)};
  }
  [[nodiscard]] std::span<const DenseColumn> dense_columns() const;
  [[nodiscard]] const RowForm& row_form() const {
    const RowForm* made = row_form_->load(std::memory_order_acquire);
    return made != nullptr ? *made : make_row_form();
  }
  [[nodiscard]] std::span<const double> column_scale() const { return scale_; }

  [[nodiscard]] Matrix select_rows(std::span<const Index> rows) const;           // in the given order
  [[nodiscard]] Matrix select_columns(std::span<const Index> columns) const;     // in the given order; shares storage
  [[nodiscard]] Matrix with_column_scale(std::vector<double> scale) const;       // replaces c; shares storage
  [[nodiscard]] Matrix with_scaled_rows(std::span<const double> factors) const;  // diag(f) A, stored anew
  // f(row, column, stored value) in place of every stored value, scale untouched; stored anew.
  [[nodiscard]] Matrix with_stored_values(const std::function<double(Index, Index, double)>& f) const;

  explicit Matrix(std::shared_ptr<const StoredMatrix> stored, std::vector<double> scale = {});

 private:
  const RowForm& make_row_form() const;
  [[nodiscard]] double scale_of(Index j) const { return scale_.empty() ? 1.0 : scale_[static_cast<std::size_t>(j)]; }

  std::shared_ptr<const StoredMatrix> stored_;
  // Copies of what *stored_ holds, so that access to a column or row is a few loads.
  Index rows_ = 0;
  Index cols_ = 0;
  const StoredColumn* columns_ = nullptr;
  const std::atomic<const RowForm*>* row_form_ = nullptr;
  std::vector<double> scale_;  // empty: all ones
};

// f(typed pointer to the values); not for kBinary, which has none.
template <class F>
decltype(auto) with_values(Storage storage, const void* values, F&& f) {
  switch (storage) {
    case Storage::kInt8:
      return f(static_cast<const std::int8_t*>(values));
    case Storage::kInt16:
      return f(static_cast<const std::int16_t*>(values));
    case Storage::kFloat32:
      return f(static_cast<const float*>(values));
    default:
      return f(static_cast<const double*>(values));
  }
}

// Reads value k of an array of the storage type.
inline double value_at(Storage storage, const void* values, std::size_t k) {
  if (storage == Storage::kBinary) return 1.0;
  return with_values(storage, values, [k](const auto* typed) { return static_cast<double>(typed[k]); });
}

// Reads stored entry k of a column, without its scale.
inline double stored_value(const ColumnView& column, std::size_t k) {
  return value_at(column.storage, column.values, k);
}

inline ColumnView Matrix::column(Index j) const {
  const StoredColumn& stored = columns_[j];
  return {stored.storage, stored.dense ? static_cast<std::size_t>(rows_) : stored.count, stored.rows(),
          stored.storage == Storage::kBinary ? nullptr : stored.values(), scale_of(j)};
}

template <class F>
void Matrix::for_each_in_column(Index j, F&& f) const {
  const ColumnView view = column(j);
  if (view.storage == Storage::kBinary) {
    // Binary columns always list their rows.
    for (std::size_t k = 0; k < view.count; ++k)
      f(view.rows[k], view.scale);  // NOLINT(clang-analyzer-core.NullDereference)
    return;
  }
  with_values(view.storage, view.values, [&](const auto* values) {
    if (view.rows != nullptr)
      for (std::size_t k = 0; k < view.count; ++k) f(view.rows[k], view.scale * values[k]);
    else
      for (std::size_t k = 0; k < view.count; ++k) f(static_cast<Index>(k), view.scale * values[k]);
  });
}

template <class F>
void Matrix::for_each_in_row(Index i, F&& f) const {
  const RowForm& form = row_form();
  const auto at = static_cast<std::size_t>(i);
  std::size_t one = form.ones_at[at], entry = form.values_at[at], dense = 0;
  const std::size_t ones = form.ones_at[at + 1], entries = form.values_at[at + 1], columns = form.dense.size();
  if ((one == ones) + (entry == entries) + (columns == 0) >= 2 && form.dense_ascends)
    return for_each_in_row_by_kind(i, f);
  constexpr Index kEnd = INT32_MAX;
  while (true) {
    const Index a = one < ones ? form.ones[one] : kEnd;
    const Index b = entry < entries ? form.columns[entry] : kEnd;
    const DenseColumn* column = dense < columns ? &form.dense_by_number[dense] : nullptr;
    const Index c = column != nullptr ? column->column : kEnd;
    if (a < b && a < c) {
      f(a, scale_of(a));
      ++one;
    } else if (b < c) {
      f(b, scale_of(b) * value_at(form.storage, form.values, entry++));
    } else if (c != kEnd) {
      const double value = value_at(column->storage, column->values, at);
      if (value != 0.0) f(c, scale_of(c) * value);
      ++dense;
    } else {
      return;
    }
  }
}

template <class F>
void Matrix::for_each_in_row_by_kind(Index i, F&& f) const {
  const RowForm& form = row_form();
  const auto at = static_cast<std::size_t>(i);
  const double* scale = scale_.empty() ? nullptr : scale_.data();
  for (std::size_t k = form.ones_at[at]; k < form.ones_at[at + 1]; ++k)
    f(form.ones[k], scale == nullptr ? 1.0 : scale[form.ones[k]]);
  if (form.values_at[at] != form.values_at[at + 1])
    with_values(form.storage, form.values, [&](const auto* values) {
      for (std::size_t k = form.values_at[at]; k < form.values_at[at + 1]; ++k)
        f(form.columns[k], scale == nullptr ? static_cast<double>(values[k]) : scale[form.columns[k]] * values[k]);
    });
  for (const DenseColumn& dense : form.dense) {
    const double value = value_at(dense.storage, dense.values, at);
    if (value != 0.0) f(dense.column, scale == nullptr ? value : scale[dense.column] * value);
  }
}

}  // namespace parley::linalg
