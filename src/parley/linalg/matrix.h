// An immutable n x d matrix A = S diag(c) whose columns are each stored in the smallest type that
// loses nothing: pattern-only for 0/1, int8, int16, float32, float64; sparse or dense by density.
// c is an optional scale per column (x / bound), kept apart so that integers stay integers.
//
// Products with A and its transpose are limited by memory traffic, so fewer bytes is the speed-up.
// A w runs over rows (a row form of the sparse part is kept), A'r over columns: every output
// entry is one thread's work, so results do not depend on the number of threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace parley::linalg {

using Index = std::int32_t;  // rows and columns; counts of nonzeros are std::size_t

enum class Storage : std::uint8_t { kBinary, kInt8, kInt16, kFloat32, kFloat64 };

// Smallest type that holds the value without loss (-0.0 and every double are kept bit for bit).
Storage smallest_storage(double value);

struct ColumnView {
  Storage storage = Storage::kFloat64;
  std::size_t count = 0;          // stored entries; rows() when dense
  const Index* rows = nullptr;    // ascending row numbers; null when the column is dense
  const void* values = nullptr;   // count entries of the storage type; null for a binary column
  double scale = 1.0;
};

struct RowEntry {
  Index column;
  double value;  // scale included
};

class Matrix {
 public:
  Matrix();
  Matrix(const Matrix&);
  Matrix(Matrix&&) noexcept;
  Matrix& operator=(const Matrix&);
  Matrix& operator=(Matrix&&) noexcept;
  ~Matrix();

  // Column-major dense values.
  static Matrix from_dense(Index rows, Index cols, std::span<const double> column_major);
  // Compressed rows: entries of row i are [offsets[i], offsets[i+1]), columns ascending in each row.
  static Matrix from_rows(Index cols, std::span<const std::size_t> offsets, std::span<const Index> columns,
                          std::span<const double> values);

  [[nodiscard]] Index rows() const;
  [[nodiscard]] Index cols() const;
  [[nodiscard]] std::size_t nonzeros() const;  // stored entries that are not zero
  [[nodiscard]] std::size_t bytes() const;     // memory of the stored matrix, row form included

  [[nodiscard]] ColumnView column(Index j) const;
  [[nodiscard]] double at(Index i, Index j) const;         // a search: for tests and printing
  [[nodiscard]] std::vector<RowEntry> row(Index i) const;  // nonzeros of row i, columns ascending

  void multiply(std::span<const double> w, std::span<double> out) const;             // out = A w
  void multiply_transposed(std::span<const double> r, std::span<double> out) const;  // out = A'r
  // K right-hand sides at once. Weights are stored class by class, W[k*d + j]; margins and their
  // derivatives row by row, M[i*K + k], so that the K margins of a record are neighbours.
  void multiply(std::span<const double> weights, int classes, std::span<double> margins) const;
  void multiply_transposed(std::span<const double> margins, int classes, std::span<double> weights) const;
  [[nodiscard]] double column_dot(Index j, std::span<const double> r) const;          // <a_j, r>
  void column_axpy(Index j, double a, std::span<double> r) const;                     // r += a a_j
  [[nodiscard]] double row_dot(Index i, std::span<const double> w) const;             // <x_i, w>
  void row_axpy(Index i, double a, std::span<double> w) const;                        // w += a x_i
  [[nodiscard]] double column_squared_norm(Index j) const;
  [[nodiscard]] double row_squared_norm(Index i) const;
  [[nodiscard]] std::vector<double> column_squared_norms() const;
  [[nodiscard]] std::vector<double> row_squared_norms() const;

  // f(row, value) / f(column, value) over the stored entries, scale included.
  template <class F>
  void for_each_in_column(Index j, F&& f) const;
  template <class F>
  void for_each_in_row(Index i, F&& f) const;

  [[nodiscard]] Matrix select_rows(std::span<const Index> rows) const;  // in the given order
  [[nodiscard]] Matrix select_columns(std::span<const Index> columns) const;
  [[nodiscard]] Matrix with_column_scale(std::vector<double> scale) const;  // replaces c; shares storage
  [[nodiscard]] Matrix with_scaled_rows(std::span<const double> factors) const;  // diag(f) A, stored anew

 private:
  struct Stored;
  explicit Matrix(std::shared_ptr<const Stored> stored, std::vector<double> scale = {});
  std::shared_ptr<const Stored> stored_;
  std::vector<double> scale_;  // empty: all ones
};

// Reads stored entry k of a column, without its scale.
inline double stored_value(const ColumnView& column, std::size_t k) {
  switch (column.storage) {
    case Storage::kBinary: return 1.0;
    case Storage::kInt8: return static_cast<const std::int8_t*>(column.values)[k];
    case Storage::kInt16: return static_cast<const std::int16_t*>(column.values)[k];
    case Storage::kFloat32: return static_cast<const float*>(column.values)[k];
    case Storage::kFloat64: return static_cast<const double*>(column.values)[k];
  }
  return 0;
}

template <class F>
void Matrix::for_each_in_column(Index j, F&& f) const {
  const ColumnView view = column(j);
  for (std::size_t k = 0; k < view.count; ++k)
    f(view.rows != nullptr ? view.rows[k] : static_cast<Index>(k), view.scale * stored_value(view, k));
}

template <class F>
void Matrix::for_each_in_row(Index i, F&& f) const {
  for (const RowEntry& entry : row(i)) f(entry.column, entry.value);
}

}  // namespace parley::linalg
