// Ways to make a Matrix without ever holding its values as doubles.
//
// By rows (LIBSVM): each reading thread packs consecutive rows into a RowBlock; the blocks go to a
// RowsBuilder in row order and are freed while the matrix is made of them.
//
//   RowBlock block;
//   for (each line) { for (each index:value) block.push(index, value);  block.end_row(); }
//   rows.append(std::move(block));
//   ...
//   Matrix a = std::move(rows).build({.cols = d, .first_column = 1});
//
// By columns (CSV): each reading thread packs its stretch of a column into a ColumnBlock; when all
// stretches of a column are there they go to a ColumnsBuilder, column after column. A column of
// category codes becomes its 0/1 columns in one call.
//
// Values must be finite. Zeros cost nothing and are not stored in sparse columns.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "parley/linalg/matrix.h"
#include "parley/linalg/packed.h"

namespace parley::linalg {

class ColumnStore;
class Memory;

// Consecutive rows in packed form. A few megabytes per block is a good size.
class RowBlock {
 public:
  // An entry of the current row; columns ascend strictly within a row (from 0, or from 1 and shifted by build).
  void push(Index column, double value) {
    if (value == 0.0) return;
    entries_.push(rows_, column, value);
    if (column < min_column_) min_column_ = column;
    if (column > max_column_) max_column_ = column;
  }
  void end_row() { ++rows_; }
  // All rows are there: the block takes exactly the memory it needs. The block that is returned is empty and
  // has the buffers, for the next rows.
  RowBlock seal() {
    RowBlock next;
    next.entries_ = entries_.seal();
    return next;
  }

  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] std::size_t nonzeros() const { return entries_.count(); }
  // Over the nonzero entries; max < min when there are none.
  [[nodiscard]] Index min_column() const { return min_column_; }
  [[nodiscard]] Index max_column() const { return max_column_; }
  [[nodiscard]] std::size_t bytes() const { return entries_.bytes(); }

 private:
  friend class RowsBuilder;
  PackedEntries entries_;
  Index rows_ = 0;
  Index min_column_ = INT32_MAX;
  Index max_column_ = -1;
};

class RowsBuilder {
 public:
  struct Shape {
    Index cols = 0;
    Index first_column = 0;  // the column number that becomes column 0
  };

  void append(RowBlock block);  // blocks arrive in row order
  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index min_column() const { return min_column_; }
  [[nodiscard]] Index max_column() const { return max_column_; }
  // Every column number lies in [first_column, first_column + cols).
  [[nodiscard]] Matrix build(Shape shape) &&;

 private:
  std::vector<RowBlock> blocks_;
  std::vector<Index> first_rows_;  // of each block
  Index rows_ = 0;
  Index min_column_ = INT32_MAX;
  Index max_column_ = -1;
};

// A stretch of one column in packed form.
class ColumnBlock {
 public:
  void push(double value) {  // the next row's value, zeros too
    if (value != 0.0) entries_.push(0, rows_, value);
    ++rows_;
  }
  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] std::size_t bytes() const { return entries_.bytes(); }

 private:
  friend class ColumnsBuilder;
  PackedEntries entries_;
  Index rows_ = 0;
};

class ColumnsBuilder {
 public:
  explicit ColumnsBuilder(Index rows);
  ColumnsBuilder(ColumnsBuilder&&) noexcept;
  ColumnsBuilder& operator=(ColumnsBuilder&&) noexcept;
  ~ColumnsBuilder();

  // The next column, whose stretches have `rows` values together.
  void append(std::vector<ColumnBlock> stretches);
  void append_dense(std::span<const double> values);
  // The next column when it is better stored dense: where its `rows` values of the storage's type go (one byte each for
  // kBinary); null, and nothing appended, when it is not. `nonzeros` of the values are not zero.
  [[nodiscard]] std::byte* append_dense(Storage storage, std::size_t nonzeros);
  // Likewise, of values that are there already, aligned to 64 bytes, in memory that keep() was told of; false, and
  // nothing appended, when it is better stored sparse.
  [[nodiscard]] bool append_dense_at(const double* values, std::size_t nonzeros);
  void keep(std::shared_ptr<const Memory> memory);
  // The next column: ones at the given ascending rows, zero elsewhere.
  void append_binary(std::span<const Index> ones);
  // The next `levels` columns: column v has a one where codes[i] == v; a negative code has none.
  void append_categories(std::span<const Index> codes, Index levels);

  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index cols() const;
  [[nodiscard]] Matrix build() &&;

 private:
  Index rows_;
  std::unique_ptr<ColumnStore> columns_;
  std::vector<double> scratch_;  // one column
};

}  // namespace parley::linalg
