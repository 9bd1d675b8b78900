#include "parley/linalg/matrix.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "random_matrix.h"

using namespace parley::linalg;

TEST(Matrix, MultipliesLikeTheDefinition) {
  // 1 0 2
  // 0 3 1.5
  const Matrix a = Matrix::from_dense(2, 3, std::vector<double>{1, 0, 0, 3, 2, 1.5});
  const std::vector<double> w = {1, 2, 3};
  std::vector<double> out(2);
  a.multiply(w, out);
  EXPECT_EQ(out, (std::vector<double>{7, 10.5}));
  std::vector<double> g(3);
  a.multiply_transposed(std::vector<double>{1, 2}, g);
  EXPECT_EQ(g, (std::vector<double>{1, 6, 5}));
}

TEST(SmallestStorage, LosesNothing) {
  EXPECT_EQ(smallest_storage(1), Storage::kBinary);
  EXPECT_EQ(smallest_storage(-1), Storage::kInt8);
  EXPECT_EQ(smallest_storage(127), Storage::kInt8);
  EXPECT_EQ(smallest_storage(128), Storage::kInt16);
  EXPECT_EQ(smallest_storage(-32767), Storage::kInt16);
  EXPECT_EQ(smallest_storage(32768), Storage::kFloat32);
  EXPECT_EQ(smallest_storage(16777217), Storage::kFloat64);
  EXPECT_EQ(smallest_storage(0.5), Storage::kFloat32);
  EXPECT_EQ(smallest_storage(0.1), Storage::kFloat64);
  EXPECT_EQ(smallest_storage(1e300), Storage::kFloat64);
  EXPECT_EQ(smallest_storage(5e-324), Storage::kFloat64);
}

TEST(Matrix, ReturnsEveryEntryBitForBitFromEitherConstructor) {
  const Plain plain = mixed(97, 40, 1);
  for (const Matrix& a : {plain.matrix(), plain.matrix_from_rows()}) {
    ASSERT_EQ(a.rows(), plain.rows);
    ASSERT_EQ(a.cols(), plain.cols);
    std::size_t nonzeros = 0;
    for (Index j = 0; j < a.cols(); ++j)
      for (Index i = 0; i < a.rows(); ++i) {
        EXPECT_EQ(a.at(i, j), plain.at(i, j));
        nonzeros += plain.at(i, j) != 0.0;
      }
    EXPECT_EQ(a.nonzeros(), nonzeros);
    for (Index i = 0; i < a.rows(); ++i) {
      const std::vector<RowEntry> row = a.row(i);
      auto next = row.begin();
      for (Index j = 0; j < a.cols(); ++j) {
        if (plain.at(i, j) == 0.0) continue;
        ASSERT_NE(next, row.end());
        EXPECT_EQ(next->column, j);
        EXPECT_EQ(next->value, plain.at(i, j));
        ++next;
      }
      EXPECT_EQ(next, row.end());
    }
  }
}

TEST(Matrix, KeepsTheExtremesOfEveryType) {
  const std::vector<double> extremes = {-127,  127,     -32767, 32767, -128, -32768, 3.4028234663852886e38,
                                        1e-45, 1.7e308, 5e-324};
  for (const double v : extremes) {
    std::vector<double> column(40);
    column[7] = v;
    EXPECT_EQ(Matrix::from_dense(40, 1, column).at(7, 0), v);
    EXPECT_EQ(Matrix::from_dense(1, 1, std::vector<double>{v}).at(0, 0), v);
  }
}

TEST(Matrix, DoesNotHideValuesThatAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Matrix a = Matrix::from_dense(2, 2, std::vector<double>{std::nan(""), 1, infinity, 1});
  std::vector<double> margins(2);
  a.multiply(std::vector<double>{1, 0}, margins);
  EXPECT_TRUE(std::isnan(margins[0]));
  EXPECT_EQ(a.at(0, 1), infinity);
}

TEST(Matrix, StoresColumnsInTheirSmallestType) {
  std::vector<double> values(400);
  for (std::size_t i = 0; i < 5; ++i) {
    values[i * 20] = 1;           // sparse 0/1
    values[100 + i * 20] = 3;     // sparse int8
    values[200 + i * 20] = 1000;  // sparse int16
  }
  for (std::size_t i = 0; i < 100; ++i) values[300 + i] = 0.5;  // dense float32
  const Matrix a = Matrix::from_dense(100, 4, values);
  EXPECT_EQ(a.column(0).storage, Storage::kBinary);
  EXPECT_EQ(a.column(0).count, 5U);
  EXPECT_EQ(a.column(0).values, nullptr);
  EXPECT_EQ(a.column(1).storage, Storage::kInt8);
  EXPECT_EQ(a.column(2).storage, Storage::kInt16);
  EXPECT_EQ(a.column(3).storage, Storage::kFloat32);
  EXPECT_EQ(a.column(3).rows, nullptr);
  EXPECT_EQ(a.column(3).count, 100U);
}

TEST(Matrix, AnEmptyColumnIsSparse) {
  const Matrix a = Matrix::from_rows(2, std::vector<std::size_t>{0, 0, 0}, {}, {});
  EXPECT_NE(a.column(1).rows, nullptr);
  EXPECT_NE(Matrix::from_dense(2, 1, std::vector<double>(2)).column(0).rows, nullptr);
  EXPECT_EQ(a.column(1).count, 0U);
}

TEST(Matrix, ScaleMultipliesColumnsAndSharesStorage) {
  const Plain plain = mixed(50, 20, 2);
  std::vector<double> scale = normal_vector(20, 3);
  const Matrix a = plain.matrix().with_column_scale(scale);
  for (Index j = 0; j < 20; ++j)
    for (Index i = 0; i < 50; ++i) EXPECT_EQ(a.at(i, j), plain.at(i, j) * scale[static_cast<std::size_t>(j)]);
  for (const RowEntry& entry : a.row(11))
    EXPECT_EQ(entry.value, plain.at(11, entry.column) * scale[static_cast<std::size_t>(entry.column)]);
  EXPECT_EQ(a.with_column_scale({}).at(4, 1), plain.at(4, 1));
}

TEST(Matrix, SelectsRowsInAnyOrderWithRepeats) {
  const Plain plain = mixed(60, 21, 4);
  const Matrix a = plain.matrix().with_column_scale(std::vector<double>(21, 0.5));
  const std::vector<Index> chosen = {59, 0, 7, 7, 3};
  const Matrix b = a.select_rows(chosen);
  ASSERT_EQ(b.rows(), 5);
  for (Index j = 0; j < 21; ++j)
    for (std::size_t k = 0; k < chosen.size(); ++k)
      EXPECT_EQ(b.at(static_cast<Index>(k), j), 0.5 * plain.at(chosen[k], j));
  EXPECT_EQ(a.select_rows({}).rows(), 0);
  EXPECT_EQ(a.select_rows({}).cols(), 21);
}

TEST(Matrix, SelectsColumnsInAnyOrderAndOutlivesTheOriginal) {
  const Plain plain = mixed(60, 21, 5);
  Matrix b;
  {
    const Matrix a = plain.matrix().with_column_scale(normal_vector(21, 6));
    b = a.select_columns(std::vector<Index>{20, 3, 1});
    EXPECT_EQ(b.at(9, 1), a.at(9, 3));
  }
  const std::vector<double> scale = normal_vector(21, 6);
  std::size_t nonzeros = 0;
  for (Index i = 0; i < 60; ++i) {
    EXPECT_EQ(b.at(i, 0), plain.at(i, 20) * scale[20]);
    EXPECT_EQ(b.at(i, 2), plain.at(i, 1) * scale[1]);
    for (const Index j : {20, 3, 1}) nonzeros += plain.at(i, j) != 0.0;
  }
  EXPECT_EQ(b.nonzeros(), nonzeros);
}

TEST(Matrix, ScalesRows) {
  const Plain plain = mixed(60, 21, 7);
  const std::vector<double> factors = normal_vector(60, 8);
  const Matrix b = plain.matrix().with_scaled_rows(factors);
  for (Index j = 0; j < 21; ++j)
    for (Index i = 0; i < 60; ++i) EXPECT_EQ(b.at(i, j), plain.at(i, j) * factors[static_cast<std::size_t>(i)]);
}

TEST(Matrix, MovedFromIsEmptyAndUsable) {
  Matrix a = mixed(10, 5, 9).matrix();
  const Matrix b = std::move(a);
  EXPECT_EQ(b.rows(), 10);
  a.multiply({}, {});  // NOLINT(bugprone-use-after-move): that it is empty is the claim
  EXPECT_EQ(a.rows(), 0);
  EXPECT_EQ(a.cols(), 0);
}

TEST(Matrix, RowFormIsMadeOnceByManyThreads) {
  const Plain plain = mixed(300, 50, 10);
  const Matrix a = plain.matrix();
  std::vector<std::thread> threads;
  std::vector<const RowForm*> seen(4);
  for (std::size_t t = 0; t < seen.size(); ++t) threads.emplace_back([&, t] { seen[t] = &a.row_form(); });
  for (std::thread& thread : threads) thread.join();
  for (const RowForm* form : seen) EXPECT_EQ(form, seen[0]);
}
