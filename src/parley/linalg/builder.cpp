#include "parley/linalg/builder.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace parley::linalg {

void RowsBuilder::append(RowBlock block) {
  rows_ += block.rows();
  min_column_ = std::min(min_column_, block.min_column());
  max_column_ = std::max(max_column_, block.max_column());
  blocks_.push_back(std::move(block));
}

Matrix RowsBuilder::build(Shape shape) && {
  assert(max_column_ < min_column_ ||
         (min_column_ >= shape.first_column && max_column_ - shape.first_column < shape.cols));
  std::vector<std::size_t> offsets{0};
  std::vector<Index> columns;
  std::vector<double> values;
  for (RowBlock& block : blocks_) {
    const std::size_t base = columns.size();
    for (std::size_t i = 1; i < block.offsets_.size(); ++i) offsets.push_back(base + block.offsets_[i]);
    for (const Index j : block.columns_) columns.push_back(j - shape.first_column);
    values.insert(values.end(), block.values_.begin(), block.values_.end());
    block = RowBlock();
  }
  return Matrix::from_rows(shape.cols, offsets, columns, values);
}

void ColumnsBuilder::append(std::vector<ColumnBlock> stretches) {
  Column column;
  Index i = 0;
  for (const ColumnBlock& stretch : stretches)
    for (const double v : stretch.values_) {
      if (v != 0.0) {
        column.rows.push_back(i);
        column.values.push_back(v);
      }
      ++i;
    }
  assert(i == rows_);
  columns_.push_back(std::move(column));
}

void ColumnsBuilder::append_dense(std::span<const double> values) {
  assert(values.size() == static_cast<std::size_t>(rows_));
  Column column;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0.0) continue;
    column.rows.push_back(static_cast<Index>(i));
    column.values.push_back(values[i]);
  }
  columns_.push_back(std::move(column));
}

void ColumnsBuilder::append_binary(std::span<const Index> ones) {
  columns_.push_back({std::vector<Index>(ones.begin(), ones.end()), std::vector<double>(ones.size(), 1.0)});
}

void ColumnsBuilder::append_categories(std::span<const Index> codes, Index levels) {
  assert(codes.size() == static_cast<std::size_t>(rows_));
  const std::size_t first = columns_.size();
  columns_.resize(first + static_cast<std::size_t>(levels));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] < 0) continue;
    Column& column = columns_[first + static_cast<std::size_t>(codes[i])];
    column.rows.push_back(static_cast<Index>(i));
    column.values.push_back(1.0);
  }
}

Matrix ColumnsBuilder::build() && {
  std::vector<std::size_t> offsets(static_cast<std::size_t>(rows_) + 1);
  for (const Column& column : columns_)
    for (const Index i : column.rows) ++offsets[static_cast<std::size_t>(i) + 1];
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  std::vector<Index> columns(offsets.back());
  std::vector<double> values(offsets.back());
  std::vector<std::size_t> filled(offsets.begin(), offsets.end() - 1);
  for (std::size_t j = 0; j < columns_.size(); ++j)
    for (std::size_t k = 0; k < columns_[j].rows.size(); ++k) {
      const std::size_t slot = filled[static_cast<std::size_t>(columns_[j].rows[k])]++;
      columns[slot] = static_cast<Index>(j);
      values[slot] = columns_[j].values[k];
    }
  return Matrix::from_rows(cols(), offsets, columns, values);
}

}  // namespace parley::linalg
