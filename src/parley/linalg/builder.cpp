#include "parley/linalg/builder.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "parley/linalg/assemble.h"
#include "parley/linalg/stored.h"

namespace parley::linalg {

void RowsBuilder::append(RowBlock block) {
  block.entries_.seal();
  first_rows_.push_back(rows_);
  rows_ += block.rows();
  min_column_ = std::min(min_column_, block.min_column());
  max_column_ = std::max(max_column_, block.max_column());
  blocks_.push_back(std::move(block));
}

Matrix RowsBuilder::build(Shape shape) && {
  assert(max_column_ < min_column_ ||
         (min_column_ >= shape.first_column && max_column_ - shape.first_column < shape.cols));
  const auto visit = [&](std::size_t part, const auto& f) {
    blocks_[part].entries_.visit([&](Index line, Index column, double value) {
      f(first_rows_[part] + line, column - shape.first_column, value);
    });
  };
  const auto release = [&](std::size_t part) { blocks_[part] = RowBlock(); };
  return Matrix(assemble_rows(rows_, shape.cols, blocks_.size(), visit, release));
}

ColumnsBuilder::ColumnsBuilder(Index rows) : rows_(rows), columns_(std::make_unique<ColumnStore>(rows)) {}
ColumnsBuilder::ColumnsBuilder(ColumnsBuilder&&) noexcept = default;
ColumnsBuilder& ColumnsBuilder::operator=(ColumnsBuilder&&) noexcept = default;
ColumnsBuilder::~ColumnsBuilder() = default;

Index ColumnsBuilder::cols() const {
  return columns_->cols();
}

void ColumnsBuilder::append(std::vector<ColumnBlock> stretches) {
  scratch_.assign(static_cast<std::size_t>(rows_), 0.0);
  Index first = 0;
  for (ColumnBlock& stretch : stretches) {
    assert(stretch.rows() <= rows_ - first);
    stretch.entries_.seal();
    stretch.entries_.visit([&](Index, Index position, double value) {
      scratch_[static_cast<std::size_t>(first) + static_cast<std::size_t>(position)] = value;
    });
    first += stretch.rows();
    stretch = ColumnBlock();
  }
  assert(first == rows_);
  columns_->add(scratch_);
}

void ColumnsBuilder::append_dense(std::span<const double> values) {
  columns_->add(values);
}

std::byte* ColumnsBuilder::append_dense(Storage storage, std::size_t nonzeros) {
  return columns_->add_dense(storage, nonzeros);
}

bool ColumnsBuilder::append_dense_at(const double* values, std::size_t nonzeros) {
  return columns_->add_dense_at(values, nonzeros);
}

void ColumnsBuilder::keep(std::shared_ptr<const Memory> memory) {
  columns_->keep(std::move(memory));
}

void ColumnsBuilder::append_binary(std::span<const Index> ones) {
  columns_->add_binary(ones);
}

void ColumnsBuilder::append_categories(std::span<const Index> codes, Index levels) {
  assert(codes.size() == static_cast<std::size_t>(rows_));
  std::vector<std::size_t> starts(static_cast<std::size_t>(levels) + 1);
  for (const Index code : codes) {
    assert(code < levels);
    if (code >= 0) ++starts[static_cast<std::size_t>(code) + 1];
  }
  for (std::size_t level = 1; level < starts.size(); ++level) starts[level] += starts[level - 1];
  std::vector<Index> rows(starts.back());
  std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (codes[i] >= 0) rows[next[static_cast<std::size_t>(codes[i])]++] = static_cast<Index>(i);
  for (std::size_t level = 0; level + 1 < starts.size(); ++level)
    columns_->add_binary(std::span(rows).subspan(starts[level], starts[level + 1] - starts[level]));
}

Matrix ColumnsBuilder::build() && {
  return Matrix(std::move(*columns_).build());
}

}  // namespace parley::linalg
