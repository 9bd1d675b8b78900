#include "parley/linalg/builder.h"

#include <gtest/gtest.h>

#include <cstring>

#include "parley/core/threads.h"
#include "random_matrix.h"

using namespace parley::linalg;

namespace {

std::vector<double> dense(const Matrix& a) {
  std::vector<double> values(static_cast<std::size_t>(a.rows()) * static_cast<std::size_t>(a.cols()));
  for (Index j = 0; j < a.cols(); ++j)
    a.for_each_in_column(j, [&](Index i, double v) {
      values[static_cast<std::size_t>(j) * static_cast<std::size_t>(a.rows()) + static_cast<std::size_t>(i)] = v;
    });
  return values;
}

}  // namespace

TEST(RowsBuilder, JoinsBlocksInOrderAndShiftsColumns) {
  RowBlock first;
  first.push(1, 1.0);
  first.push(3, 2.5);
  first.end_row();
  first.end_row();
  RowBlock second;
  second.push(2, -7);
  second.end_row();
  RowsBuilder rows;
  rows.append(std::move(first));
  rows.append(std::move(second));
  EXPECT_EQ(rows.rows(), 3);
  EXPECT_EQ(rows.min_column(), 1);
  EXPECT_EQ(rows.max_column(), 3);
  const Matrix a = std::move(rows).build({.cols = 3, .first_column = 1});
  EXPECT_EQ(dense(a), (std::vector<double>{1, 0, 0, 0, 0, -7, 2.5, 0, 0}));
}

TEST(RowsBuilder, ASealedBlockHandsItsBuffersOn) {
  RowBlock first;
  first.push(0, 0.1);
  first.push(2, 1);
  first.end_row();
  RowBlock second = first.seal();
  EXPECT_EQ(second.rows(), 0);
  EXPECT_EQ(second.nonzeros(), 0U);
  EXPECT_EQ(first.nonzeros(), 2U);
  second.push(1, 0.3);
  second.end_row();
  RowsBuilder rows;
  rows.append(std::move(first));
  rows.append(std::move(second));
  EXPECT_EQ(dense(std::move(rows).build({.cols = 3})), (std::vector<double>{0.1, 0, 0, 0.3, 1, 0}));
}

TEST(ColumnsBuilder, DenseColumnsGetTheirPlaceBeforeTheirValues) {
  ColumnsBuilder columns(3);
  EXPECT_EQ(columns.append_dense(Storage::kFloat32, 0), nullptr);
  std::byte* at = columns.append_dense(Storage::kFloat32, 3);
  ASSERT_NE(at, nullptr);
  const float values[] = {0.5, 1, 2};
  std::memcpy(at, values, sizeof values);
  at = columns.append_dense(Storage::kBinary, 2);
  ASSERT_NE(at, nullptr);
  at[0] = at[2] = std::byte{1};
  EXPECT_EQ(dense(std::move(columns).build()), (std::vector<double>{0.5, 1, 2, 1, 0, 1}));
}

TEST(ColumnsBuilder, TakesStretchesDensePatternsAndCategories) {
  ColumnBlock top;
  top.push(0.5);
  ColumnBlock bottom;
  bottom.push(0);
  bottom.push(3);
  ColumnsBuilder columns(3);
  std::vector<ColumnBlock> stretches;
  stretches.push_back(std::move(top));
  stretches.push_back(std::move(bottom));
  columns.append(std::move(stretches));
  columns.append_dense(std::vector<double>{1, 2, 3});
  columns.append_binary(std::vector<Index>{1});
  columns.append_categories(std::vector<Index>{1, -1, 0}, 2);
  EXPECT_EQ(columns.cols(), 5);
  const Matrix a = std::move(columns).build();
  EXPECT_EQ(dense(a), (std::vector<double>{0.5, 0, 3, 1, 2, 3, 0, 1, 0, 0, 0, 1, 1, 0, 0}));
}

TEST(RowsBuilder, GivesTheSameMatrixForEveryCutIntoBlocks) {
  const Plain plain = mixed(500, 400, 41);
  for (const Index size : {1, 7, 100, 500})
    for (const int threads : {1, 2}) {
      parley::set_thread_count(threads);
      RowsBuilder rows;
      for (Index begin = 0; begin < plain.rows; begin += size) {
        RowBlock block;
        for (Index i = begin; i < std::min(plain.rows, begin + size); ++i) {
          for (Index j = 0; j < plain.cols; ++j) block.push(j, plain.at(i, j));
          block.end_row();
        }
        rows.append(std::move(block));
      }
      const Matrix a = std::move(rows).build({.cols = plain.cols});
      EXPECT_EQ(dense(a), plain.values);
      EXPECT_EQ(a.bytes(), plain.matrix().bytes());
      parley::set_thread_count(0);
    }
}

TEST(RowsBuilder, KeepsGapsAndRunsOfEveryLength) {
  std::mt19937_64 random(42);
  RowBlock block;
  std::vector<std::vector<RowEntry>> expected;
  for (int i = 0; i < 300; ++i) {
    std::vector<RowEntry> row;
    Index column = 0;
    const std::size_t entries = random() % 4 == 0 ? 0 : random() % 200;
    for (std::size_t k = 0; k < entries; ++k) {
      const Index gaps[] = {0, 0, 0, 0, 1, 191, 192, 251, 255, 65535, 65536, 70000};
      column += gaps[random() % 12];
      row.push_back({column, value_of(static_cast<Storage>(random() % 7 < 5 ? 0 : random() % 5), random)});
      block.push(column, row.back().value);
      ++column;
    }
    block.end_row();
    expected.push_back(row);
  }
  RowsBuilder rows;
  const Index cols = block.max_column() + 1;
  EXPECT_LT(block.bytes(), 6 * block.nonzeros());
  rows.append(std::move(block));
  const Matrix a = std::move(rows).build({.cols = cols});
  for (Index i = 0; i < a.rows(); ++i) {
    const std::vector<RowEntry> row = a.row(i);
    const std::vector<RowEntry>& wanted = expected[static_cast<std::size_t>(i)];
    ASSERT_EQ(row.size(), wanted.size());
    for (std::size_t k = 0; k < row.size(); ++k) {
      EXPECT_EQ(row[k].column, wanted[k].column);
      EXPECT_EQ(row[k].value, wanted[k].value);
    }
  }
}

TEST(RowsBuilder, PacksDenseRowsInLittleMoreThanTheirValues) {
  RowBlock block;
  for (int i = 0; i < 10; ++i) {
    for (Index j = 0; j < 6000; ++j) block.push(j, 0.1 + j);
    block.end_row();
  }
  EXPECT_LT(block.bytes(), 10 * 6000 * 8 * 1.01);
}

TEST(RowsBuilder, MakesEmptyMatrices) {
  const Matrix nothing = RowsBuilder().build({.cols = 3});
  EXPECT_EQ(nothing.rows(), 0);
  EXPECT_EQ(nothing.cols(), 3);
  RowBlock block;
  block.end_row();
  block.push(0, 0.0);
  block.end_row();
  RowsBuilder rows;
  rows.append(std::move(block));
  const Matrix a = std::move(rows).build({.cols = 0});
  EXPECT_EQ(a.rows(), 2);
  EXPECT_EQ(a.nonzeros(), 0U);
}

TEST(ColumnsBuilder, GivesBackEveryColumnFromStretches) {
  const Plain plain = mixed(1000, 30, 43);
  ColumnsBuilder columns(plain.rows);
  for (Index j = 0; j < plain.cols; ++j) {
    std::vector<ColumnBlock> stretches(4);
    for (Index i = 0; i < plain.rows; ++i) stretches[static_cast<std::size_t>(i / 300)].push(plain.at(i, j));
    columns.append(std::move(stretches));
  }
  const Matrix a = std::move(columns).build();
  EXPECT_EQ(dense(a), plain.values);
  EXPECT_EQ(a.bytes(), plain.matrix().bytes());
}
