// A copy of a matrix's rows for readers of a few rows here and there: all entries of a row side by side, dense
// columns too, which the matrix itself keeps far apart. 8 bytes an entry, 12 where float is not exact.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parley/linalg/matrix.h"

namespace parley::linalg {

class RowRuns {
 public:
  // The stored values, without the columns' scale.
  explicit RowRuns(const Matrix& matrix);

  [[nodiscard]] std::size_t entries(std::size_t row) const { return offsets_[row + 1] - offsets_[row]; }

  // out[b] = <stored row records[b], w>, to the last digit a function of that row and w alone. With a scale, w is
  // multiplied by it column by column.
  void dots(std::span<const std::size_t> records, std::span<const double> w, std::span<const double> scale,
            std::span<double> out) const;
  // f(column, stored value) over the entries of a row, columns ascending.
  template <class F>
  void for_each(std::size_t row, F&& f) const;
  // Asks memory for a row that is read soon.
  void prefetch(std::size_t row) const;

 private:
  template <class Value>
  void dots_of(const Value* values, std::span<const std::size_t> records, std::span<const double> w,
               std::span<const double> scale, std::span<double> out) const;

  std::vector<std::size_t> offsets_;
  std::vector<std::uint32_t> columns_;
  std::vector<float> single_;  // one of the two
  std::vector<double> double_;
};

template <class F>
void RowRuns::for_each(std::size_t row, F&& f) const {
  if (double_.empty())
    for (std::size_t k = offsets_[row]; k < offsets_[row + 1]; ++k) f(columns_[k], static_cast<double>(single_[k]));
  else
    for (std::size_t k = offsets_[row]; k < offsets_[row + 1]; ++k) f(columns_[k], double_[k]);
}

}  // namespace parley::linalg
