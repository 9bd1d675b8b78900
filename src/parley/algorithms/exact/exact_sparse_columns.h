// The columns that a working set names, copied out so that products and Hessians touch nothing else.
// A coordinate is a weight: one column of the features (or the column of ones of the intercept) in
// one class. Both a column form and a row form are kept; rows list their slots in ascending order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parley/linalg/matrix.h"

namespace parley::algorithms {

struct Coordinate {
  linalg::Index column = 0;  // features.cols() means the intercept
  int class_number = 0;

  bool operator==(const Coordinate&) const = default;
};

class WorkingColumns {
 public:
  void assign(const linalg::Matrix& features, std::vector<Coordinate> coordinates);

  [[nodiscard]] std::size_t size() const { return coordinates_.size(); }
  [[nodiscard]] std::size_t entries() const { return rows_.size(); }
  [[nodiscard]] std::span<const Coordinate> coordinates() const { return coordinates_; }

  // margins[class * n + i] = sum over the slots of that class of x_ij * weights[slot].
  void multiply(std::span<const double> weights, std::span<double> margins) const;

  // Columns dense enough that multiplying zeros is cheaper than skipping them are also kept side by
  // side, kTileWidth to a tile: tile(t)[i * kTileWidth + c] is row i of slot t * kTileWidth + c, zero beyond
  // the last slot.
  static constexpr std::size_t kTileWidth = 8;
  [[nodiscard]] bool tiled() const { return !tiles_.empty(); }
  [[nodiscard]] std::size_t tile_count() const { return (size() + kTileWidth - 1) / kTileWidth; }
  [[nodiscard]] const double* tile(std::size_t t) const { return tiles_.data() + t * samples_ * kTileWidth; }
  [[nodiscard]] std::size_t samples() const { return samples_; }

  // f(row, value) over the entries of a slot's column.
  template <class F>
  void for_each_in_slot(std::size_t slot, F&& f) const {
    for (std::size_t k = starts_[slot]; k < starts_[slot + 1]; ++k) f(rows_[k], values_[k]);
  }
  // The entries of row i: [row_start(i), row_start(i + 1)) of slots() and row_values(), slots ascending.
  [[nodiscard]] std::size_t row_start(std::size_t i) const { return row_starts_[i]; }
  [[nodiscard]] const std::uint32_t* slots() const { return slots_.data(); }
  // Null when every entry is 1.
  [[nodiscard]] const double* row_values() const { return row_values_.empty() ? nullptr : row_values_.data(); }

 private:
  void copy_columns(const linalg::Matrix& features);
  void make_rows();
  void make_tiles();

  std::size_t samples_ = 0;
  bool one_class_ = true;
  std::vector<Coordinate> coordinates_;
  std::vector<std::size_t> starts_;
  std::vector<linalg::Index> rows_;
  std::vector<double> values_;
  std::vector<std::size_t> row_starts_;
  std::vector<std::uint32_t> slots_;
  std::vector<double> row_values_;
  std::vector<double> tiles_;
};

}  // namespace parley::algorithms
