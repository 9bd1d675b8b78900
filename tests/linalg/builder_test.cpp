#include "parley/linalg/builder.h"

#include <gtest/gtest.h>

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

TEST(ColumnsBuilder, TakesStretchesDensePatternsAndCategories) {
  ColumnBlock top;
  top.push(0.5);
  ColumnBlock bottom;
  bottom.push(0);
  bottom.push(3);
  ColumnsBuilder columns(3);
  columns.append({top, bottom});
  columns.append_dense(std::vector<double>{1, 2, 3});
  columns.append_binary(std::vector<Index>{1});
  columns.append_categories(std::vector<Index>{1, -1, 0}, 2);
  EXPECT_EQ(columns.cols(), 5);
  const Matrix a = std::move(columns).build();
  EXPECT_EQ(dense(a), (std::vector<double>{0.5, 0, 3, 1, 2, 3, 0, 1, 0, 0, 0, 1, 1, 0, 0}));
}
