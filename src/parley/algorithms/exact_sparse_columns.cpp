#include "parley/algorithms/exact_sparse_columns.h"

#include <algorithm>

#include "parley/core/threads.h"

namespace parley::algorithms {

using linalg::Index;

namespace {

// A pair of nonzeros costs about this many times a pair of places in a tile.
constexpr double kPairPrice = 12;

}  // namespace

void WorkingColumns::assign(const linalg::Matrix& features, std::vector<Coordinate> coordinates) {
  samples_ = static_cast<std::size_t>(features.rows());
  coordinates_ = std::move(coordinates);
  starts_.assign(1, 0);
  rows_.clear();
  values_.clear();
  row_starts_.assign(samples_ + 1, 0);
  for (const Coordinate& coordinate : coordinates_) {
    if (coordinate.column == features.cols()) {
      for (std::size_t i = 0; i < samples_; ++i) {
        rows_.push_back(static_cast<Index>(i));
        values_.push_back(1.0);
      }
    } else {
      features.for_each_in_column(coordinate.column, [&](Index i, double value) {
        if (value == 0.0) return;
        rows_.push_back(i);
        values_.push_back(value);
      });
    }
    starts_.push_back(rows_.size());
  }
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
  const double density = static_cast<double>(rows_.size()) / static_cast<double>(samples_ * size() + 1);
  const bool one_class =
      std::all_of(coordinates_.begin(), coordinates_.end(),
                  [](const Coordinate& coordinate) { return coordinate.class_number == 0; });
  tiles_.clear();
  if (!one_class || kPairPrice * density * density < 1) return;
  tiles_.resize(tile_count() * samples_ * kTileWidth);
  for (std::size_t slot = 0; slot < size(); ++slot) {
    double* const to = tiles_.data() + (slot / kTileWidth) * samples_ * kTileWidth + slot % kTileWidth;
    for (std::size_t k = starts_[slot]; k < starts_[slot + 1]; ++k)
      to[static_cast<std::size_t>(rows_[k]) * kTileWidth] = values_[k];
  }
}

void WorkingColumns::multiply(std::span<const double> weights, std::span<double> margins) const {
  constexpr std::size_t kRowsPerChunk = 4096;
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
