#include "parley/algorithms/exact/exact_sparse_columns.h"

#include <algorithm>
#include <numeric>

#include "parley/core/threads.h"

namespace parley::algorithms {

using linalg::ColumnView;
using linalg::Index;
using linalg::Storage;

namespace {

// A pair of nonzeros costs about this many times a pair of places in a tile.
constexpr double kPairPrice = 12;

template <class T>
std::size_t copy_typed(const ColumnView& column, Index* rows, double* values) {
  const T* const stored = static_cast<const T*>(column.values);
  if (column.rows != nullptr) {
    std::copy_n(column.rows, column.count, rows);
    for (std::size_t k = 0; k < column.count; ++k) values[k] = column.scale * static_cast<double>(stored[k]);
    return column.count;
  }
  std::size_t filled = 0;
  for (std::size_t i = 0; i < column.count; ++i) {
    rows[filled] = static_cast<Index>(i);
    values[filled] = column.scale * static_cast<double>(stored[i]);
    filled += stored[i] != 0 ? 1 : 0;
  }
  return filled;
}

// Row numbers and scaled values of a column's entries, without the zeros of a dense one; returns how many.
// There must be room for all that are stored.
std::size_t copy_entries(const ColumnView& column, Index* rows, double* values) {
  switch (column.storage) {
    case Storage::kBinary:
      std::copy_n(column.rows, column.count, rows);
      std::fill_n(values, column.count, column.scale);
      return column.count;
    case Storage::kInt8:
      return copy_typed<std::int8_t>(column, rows, values);
    case Storage::kInt16:
      return copy_typed<std::int16_t>(column, rows, values);
    case Storage::kFloat32:
      return copy_typed<float>(column, rows, values);
    case Storage::kFloat64:
      return copy_typed<double>(column, rows, values);
  }
  return 0;
}

}  // namespace

void WorkingColumns::assign(const linalg::Matrix& features, std::vector<Coordinate> coordinates) {
  samples_ = static_cast<std::size_t>(features.rows());
  coordinates_ = std::move(coordinates);
  one_class_ = std::all_of(coordinates_.begin(), coordinates_.end(),
                           [](const Coordinate& coordinate) { return coordinate.class_number == 0; });
  copy_columns(features);
  make_rows();
  make_tiles();
}

void WorkingColumns::copy_columns(const linalg::Matrix& features) {
  const auto stored = [&](const Coordinate& coordinate) {
    return coordinate.column == features.cols() ? samples_ : features.column(coordinate.column).count;
  };
  std::size_t most = 0;
  for (const Coordinate& coordinate : coordinates_) most += stored(coordinate);
  rows_.resize(most);
  values_.resize(most);
  starts_.assign(1, 0);
  for (const Coordinate& coordinate : coordinates_) {
    const std::size_t at = starts_.back();
    if (coordinate.column == features.cols()) {
      const auto begin = static_cast<std::ptrdiff_t>(at);
      std::iota(rows_.begin() + begin, rows_.begin() + begin + static_cast<std::ptrdiff_t>(samples_), Index{0});
      std::fill_n(values_.begin() + begin, samples_, 1.0);
      starts_.push_back(at + samples_);
    } else {
      starts_.push_back(at + copy_entries(features.column(coordinate.column), &rows_[at], &values_[at]));
    }
  }
  rows_.resize(starts_.back());
  values_.resize(starts_.back());
}

void WorkingColumns::make_rows() {
  row_starts_.assign(samples_ + 1, 0);
  for (const Index i : rows_) ++row_starts_[static_cast<std::size_t>(i) + 1];
  for (std::size_t i = 0; i < samples_; ++i) row_starts_[i + 1] += row_starts_[i];
  const bool ones = std::all_of(values_.begin(), values_.end(), [](double value) { return value == 1.0; });
  slots_.resize(rows_.size());
  row_values_.resize(ones ? 0 : rows_.size());
  std::vector<std::size_t> next(row_starts_.begin(), row_starts_.end() - 1);
  for (std::size_t slot = 0; slot < size(); ++slot)
    for (std::size_t k = starts_[slot]; k < starts_[slot + 1]; ++k) {
      const std::size_t to = next[static_cast<std::size_t>(rows_[k])]++;
      slots_[to] = static_cast<std::uint32_t>(slot);
      if (!ones) row_values_[to] = values_[k];
    }
}

void WorkingColumns::make_tiles() {
  tiles_.clear();
  const double density = static_cast<double>(rows_.size()) / static_cast<double>(samples_ * size() + 1);
  if (!one_class_ || kPairPrice * density * density < 1) return;
  tiles_.resize(tile_count() * samples_ * kTileWidth);
  for (std::size_t slot = 0; slot < size(); ++slot) {
    double* const to = tiles_.data() + (slot / kTileWidth) * samples_ * kTileWidth + slot % kTileWidth;
    for (std::size_t k = starts_[slot]; k < starts_[slot + 1]; ++k)
      to[static_cast<std::size_t>(rows_[k]) * kTileWidth] = values_[k];
  }
}

void WorkingColumns::multiply(std::span<const double> weights, std::span<double> margins) const {
  constexpr std::size_t kRowsPerChunk = 4096;
  if (one_class_) {
    parallel_chunks(samples_, kRowsPerChunk, [&](std::size_t begin, std::size_t end) {
      const double* const values = row_values();
      for (std::size_t i = begin; i < end; ++i) {
        double sum = 0;
        if (values != nullptr) {
          for (std::size_t k = row_starts_[i]; k < row_starts_[i + 1]; ++k) sum += values[k] * weights[slots_[k]];
        } else {
          for (std::size_t k = row_starts_[i]; k < row_starts_[i + 1]; ++k) sum += weights[slots_[k]];
        }
        margins[i] = sum;
      }
    });
    return;
  }
  std::fill(margins.begin(), margins.end(), 0.0);
  parallel_chunks(samples_, kRowsPerChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t k = row_starts_[i]; k < row_starts_[i + 1]; ++k) {
        const std::size_t slot = slots_[k];
        margins[static_cast<std::size_t>(coordinates_[slot].class_number) * samples_ + i] +=
            (row_values_.empty() ? 1.0 : row_values_[k]) * weights[slot];
      }
  });
}

}  // namespace parley::algorithms
