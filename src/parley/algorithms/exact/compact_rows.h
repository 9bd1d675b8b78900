// A solver's own copy of the rows of A, in as few bytes as the products with it need.
//
// Columns without entries are left out. Many columns are renumbered by falling number of entries: the vectors that a
// product gathers from and scatters to then stay in the first-level cache for most entries (columns of text are as
// unequal as words). Up to kMostAscending columns, entries ascend in a row. A constant column for the intercept can be
// appended; it is always the last. Column numbers take 16 bits where they fit; values are left out for 0/1 data and are
// float otherwise. Where float is not exact, a copy in double stands beside it as far as something needs it: squares of
// a few thousand columns or rows, several right-hand sides. Products with one vector are exact through the matrix
// itself; those in single precision are for solvers that correct the rounding.
//
// Every product cuts the rows at places that depend on the data alone and adds the parts in order,
// so results do not depend on the number of threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "parley/algorithms/exact/gather_dot.h"
#include "parley/linalg/matrix.h"

namespace parley::algorithms {

// Entries of a 0/1 matrix: every one is 1.
struct Ones {
  constexpr float operator[](std::size_t) const { return 1; }
};

// Rows with their types known: for loops over single rows.
template <class Column, class Values>
struct TypedRows {
  const std::size_t* offsets;
  const Column* columns;
  Values values;  // indexed like columns

  // Four sums, so that one addition need not wait for the one before.
  template <class Number>
  [[nodiscard]] Number dot(std::size_t row, const Number* w) const {
    std::size_t k = offsets[row];
    const std::size_t end = offsets[row + 1];
    if constexpr (std::is_same_v<Number, float> && !std::is_same_v<Values, const double*>)
      if (kCanGather) {
        if constexpr (std::is_same_v<Values, Ones>)
          return gather_sum(columns + k, end - k, w);
        else
          return gather_dot(columns + k, values + k, end - k, w);
      }
    Number s[4] = {};
    for (; k + 4 <= end; k += 4)
      for (std::size_t l = 0; l < 4; ++l) s[l] += static_cast<Number>(values[k + l]) * w[columns[k + l]];
    for (; k < end; ++k) s[0] += static_cast<Number>(values[k]) * w[columns[k]];
    return (s[0] + s[1]) + (s[2] + s[3]);
  }

  // out += a * (the row's entries below `end`)
  template <class Number>
  void axpy(std::size_t row, std::size_t end, Number a, Number* out) const {
    for (std::size_t k = offsets[row]; k < end; ++k) out[columns[k]] += a * static_cast<Number>(values[k]);
  }
  template <class Number>
  void axpy(std::size_t row, Number a, Number* out) const {
    axpy(row, offsets[row + 1], a, out);
  }

  [[nodiscard]] float squared_norm(std::size_t row) const {
    float sum = 0;
    for (std::size_t k = offsets[row]; k < offsets[row + 1]; ++k)
      sum += static_cast<float>(values[k]) * static_cast<float>(values[k]);
    return sum;
  }

  // Where the row lies, then what lies there: the second waits for the first.
  void prefetch_place(std::size_t row) const { __builtin_prefetch(offsets + row); }
  void prefetch(std::size_t row) const {
    for (std::size_t k = offsets[row]; k < offsets[row + 1]; k += 64 / sizeof(Column)) __builtin_prefetch(columns + k);
    if constexpr (!std::is_same_v<Values, Ones>)
      for (std::size_t k = offsets[row]; k < offsets[row + 1]; k += 64 / sizeof(values[0]))
        __builtin_prefetch(values + k);
  }
};

class CompactRows {
 public:
  static constexpr std::size_t kMostAscending = 4000;

  struct Use {
    bool constant_column = false;
    bool several_right_hand_sides = false;
  };

  // The matrix must outlive this.
  CompactRows(const linalg::Matrix& matrix, const Use& use);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }  // the constant one included
  [[nodiscard]] std::size_t nonzeros() const { return offsets_[rows_]; }
  [[nodiscard]] double pair_count() const { return pair_count_; }  // sum over rows of (entries)^2
  // Original number of a column; -1 for the constant one.
  [[nodiscard]] linalg::Index original(std::size_t column) const { return originals_[column]; }

  void multiply(std::span<const double> w, std::span<double> out) const;             // out = A w
  void multiply_transposed(std::span<const double> r, std::span<double> out) const;  // out = A'r
  // out = A' diag(c) A v in single precision; rows with c = 0 cost nothing.
  void curvature_product(std::span<const double> c, std::span<const double> v, std::span<double> out) const;
  void curvature_diagonal(std::span<const double> c, std::span<double> out) const;  // of A' diag(c) A
  // Lower triangle of A' diag(c) A, row by row in a full square. At most kMostAscending columns.
  void gram(std::span<const double> c, std::span<double> out) const;
  // Lower triangle of A A'. At most kMostAscending rows.
  void kernel(std::span<double> out) const;

  // K right-hand sides side by side: w is columns x K, out rows x K, entry (i, k) at i*K + k.
  void multiply(std::span<const double> w, std::span<double> out, std::size_t width) const;
  void multiply_transposed(std::span<const double> r, std::span<double> out, std::size_t width) const;

  // Calls f with the TypedRows of the values rounded to float.
  template <class F>
  void in_single_precision(const F& f) const;

  // Calls f(column, value) for the entries of row i.
  template <class F>
  void for_each_in_row(std::size_t i, const F& f) const;

 private:
  // Calls f with the TypedRows of the values as they are.
  template <class F>
  void exactly(const F& f) const;
  void number_columns();
  void count_entries();
  template <class Writer>
  void write_entries(const Writer& writer);
  void cut_into_parts();
  template <class Number, class Body>
  void scatter(std::span<double> out, std::size_t width, const Body& body) const;

  // Memory that is written before it is read.
  template <class T>
  struct Block {
    std::unique_ptr<T[]> at;
    void allocate(std::size_t count) { at = std::make_unique_for_overwrite<T[]>(count); }
    explicit operator bool() const { return at != nullptr; }
  };

  const linalg::Matrix& matrix_;
  bool constant_column_;
  std::size_t rows_;
  std::size_t columns_ = 0;
  bool ascending_ = true;
  double pair_count_ = 0;
  std::vector<linalg::Index> originals_;
  std::vector<std::uint32_t> number_;  // of an original column
  std::vector<std::size_t> offsets_;
  Block<std::uint16_t> short_columns_;  // one of the two
  Block<std::uint32_t> long_columns_;
  Block<float> single_;              // none for 0/1 data
  Block<double> double_;             // where float is not exact and it is needed
  std::vector<double> dense_;        // rows x columns, kept when most entries are not zero
  std::vector<std::size_t> chunks_;  // row borders
};

template <class F>
void CompactRows::exactly(const F& f) const {
  const auto with = [&](auto values) {
    if (long_columns_)
      return f(TypedRows<std::uint32_t, decltype(values)>{offsets_.data(), long_columns_.at.get(), values});
    return f(TypedRows<std::uint16_t, decltype(values)>{offsets_.data(), short_columns_.at.get(), values});
  };
  if (double_) return with(static_cast<const double*>(double_.at.get()));
  if (single_) return with(static_cast<const float*>(single_.at.get()));
  return with(Ones{});
}

template <class F>
void CompactRows::in_single_precision(const F& f) const {
  const auto with = [&](auto values) {
    if (long_columns_)
      return f(TypedRows<std::uint32_t, decltype(values)>{offsets_.data(), long_columns_.at.get(), values});
    return f(TypedRows<std::uint16_t, decltype(values)>{offsets_.data(), short_columns_.at.get(), values});
  };
  return single_ ? with(static_cast<const float*>(single_.at.get())) : with(Ones{});
}

template <class F>
void CompactRows::for_each_in_row(std::size_t i, const F& f) const {
  for (std::size_t k = offsets_[i]; k < offsets_[i + 1]; ++k) {
    const std::size_t column = long_columns_ ? long_columns_.at[k] : short_columns_.at[k];
    f(column, double_ ? double_.at[k] : single_ ? static_cast<double>(single_.at[k]) : 1.0);
  }
}

}  // namespace parley::algorithms
