#include <gtest/gtest.h>

#include <array>

#include "parley/core/threads.h"
#include "parley/linalg/cpu.h"
#include "parley/linalg/gram.h"
#include "random_matrix.h"

using namespace parley::linalg;

namespace {

// |computed - exact| against the rounding of a sum of `terms` products of that size.
void expect_close(double computed, double exact, double magnitude) {
  EXPECT_LE(std::abs(computed - exact), 1e-13 * magnitude + 1e-300) << computed << " against " << exact;
}

std::vector<CpuLevel> levels() {
  std::vector<CpuLevel> all;
  for (const CpuLevel level : {CpuLevel::kBaseline, CpuLevel::kAvx2, CpuLevel::kAvx512})
    if (level <= best_cpu_level()) all.push_back(level);
  return all;
}

class Settings {
 public:
  Settings() : level_(cpu_level()) {}
  ~Settings() {
    set_cpu_level(level_);
    parley::set_thread_count(0);
  }

 private:
  CpuLevel level_;
};

struct Shape {
  Index rows, cols;
};

constexpr Shape kShapes[] = {{1, 1}, {1, 30}, {7, 3}, {100, 23}, {1000, 71}, {20000, 9}, {333, 200}};

}  // namespace

TEST(Products, AgreeWithTheDefinitionAtEveryCpuLevelWithAndWithoutScale) {
  const Settings restore;
  for (const CpuLevel level : levels())
    for (const Shape shape : kShapes) {
      set_cpu_level(level);
      const Plain plain = mixed(shape.rows, shape.cols, 11);
      for (const bool scaled : {false, true}) {
        const std::vector<double> scale = scaled ? normal_vector(static_cast<std::size_t>(shape.cols), 12)
                                                 : std::vector<double>(static_cast<std::size_t>(shape.cols), 1.0);
        const Matrix a = scaled ? plain.matrix().with_column_scale(scale) : plain.matrix();
        const std::vector<double> w = normal_vector(scale.size(), 13);
        const std::vector<double> r = normal_vector(static_cast<std::size_t>(shape.rows), 14);
        std::vector<double> margins(r.size()), gradient(w.size());
        a.multiply(w, margins);
        a.multiply_transposed(r, gradient);
        std::vector<double> columns_only(w.size());
        const std::vector<double> column_norms = a.column_squared_norms(), row_norms = a.row_squared_norms();
        for (Index i = 0; i < shape.rows; ++i) {
          double exact = 0, magnitude = 0, norm = 0;
          for (Index j = 0; j < shape.cols; ++j) {
            const double x = plain.at(i, j) * scale[static_cast<std::size_t>(j)];
            exact += x * w[static_cast<std::size_t>(j)];
            magnitude += std::abs(x * w[static_cast<std::size_t>(j)]);
            norm += x * x;
          }
          expect_close(margins[static_cast<std::size_t>(i)], exact, magnitude);
          expect_close(a.row_dot(i, w), exact, magnitude);
          expect_close(a.row_squared_norm(i), norm, norm);
          expect_close(row_norms[static_cast<std::size_t>(i)], norm, norm);
        }
        for (Index j = 0; j < shape.cols; ++j) {
          double exact = 0, magnitude = 0, norm = 0;
          for (Index i = 0; i < shape.rows; ++i) {
            const double x = plain.at(i, j) * scale[static_cast<std::size_t>(j)];
            exact += x * r[static_cast<std::size_t>(i)];
            magnitude += std::abs(x * r[static_cast<std::size_t>(i)]);
            norm += x * x;
          }
          expect_close(gradient[static_cast<std::size_t>(j)], exact, magnitude);
          expect_close(a.column_dot(j, r), exact, magnitude);
          expect_close(a.column_squared_norm(j), norm, norm);
          expect_close(column_norms[static_cast<std::size_t>(j)], norm, norm);
        }
      }
    }
}

TEST(Products, AxpysAddScaledColumnsAndRows) {
  const Settings restore;
  for (const CpuLevel level : levels()) {
    set_cpu_level(level);
    const Plain plain = mixed(203, 35, 15);
    const std::vector<double> scale = normal_vector(35, 16);
    const Matrix a = plain.matrix().with_column_scale(scale);
    for (Index j = 0; j < 35; ++j) {
      std::vector<double> r = normal_vector(203, 17);
      const std::vector<double> before = r;
      a.column_axpy(j, -1.5, r);
      for (Index i = 0; i < 203; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double change = -1.5 * plain.at(i, j) * scale[static_cast<std::size_t>(j)];
        expect_close(r[at], before[at] + change, std::abs(before[at]) + std::abs(change));
      }
    }
    for (Index i = 0; i < 203; i += 13) {
      std::vector<double> w(35);
      a.row_axpy(i, 2.0, w);
      for (Index j = 0; j < 35; ++j)
        EXPECT_DOUBLE_EQ(w[static_cast<std::size_t>(j)], 2.0 * plain.at(i, j) * scale[static_cast<std::size_t>(j)]);
    }
  }
}

TEST(Products, SparseWeightsGiveTheSameMargins) {
  const Plain plain = mixed(20000, 30, 18);
  const Matrix a = plain.matrix();
  std::vector<double> w(30);
  w[2] = 0.7;   // a sparse 0.01 column
  w[16] = 1.1;  // another
  std::vector<double> margins(20000);
  a.multiply(w, margins);
  for (Index i = 0; i < 20000; ++i)
    EXPECT_NEAR(margins[static_cast<std::size_t>(i)], 0.7 * plain.at(i, 2) + 1.1 * plain.at(i, 16), 1e-10);
}

TEST(Products, SeveralRightHandSidesEqualOneAtATime) {
  const Settings restore;
  for (const CpuLevel level : levels())
    for (const int classes : {1, 2, 5, 8, 19}) {
      set_cpu_level(level);
      const std::size_t n = classes == 8 ? 301 : 1131, d = 44, count = static_cast<std::size_t>(classes);
      const Plain plain = mixed(static_cast<Index>(n), 44, 19);
      const Matrix a = plain.matrix().with_column_scale(normal_vector(d, 20));
      const std::vector<double> weights = normal_vector(d * count, 21);
      std::vector<double> margins(n * count);
      a.multiply(weights, classes, margins);
      std::vector<double> gradient(d * count);
      a.multiply_transposed(margins, classes, gradient);
      for (std::size_t k = 0; k < count; ++k) {
        std::vector<double> one(n), back(d), r(n);
        a.multiply(std::span(weights).subspan(k * d, d), one);
        for (std::size_t i = 0; i < n; ++i) {
          EXPECT_NEAR(margins[i * count + k], one[i], 1e-9 * (1 + std::abs(one[i])));
          r[i] = margins[i * count + k];
        }
        a.multiply_transposed(r, back);
        for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(gradient[k * d + j], back[j], 1e-9 * (1 + std::abs(back[j])));
      }
    }
}

TEST(Products, DoNotDependOnTheNumberOfThreads) {
  const Settings restore;
  for (const Shape shape : {Shape{40000, 12}, Shape{3000, 300}, Shape{50, 2000}}) {
    const Plain plain = mixed(shape.rows, shape.cols, 22);
    const auto n = static_cast<std::size_t>(shape.rows), d = static_cast<std::size_t>(shape.cols);
    const std::vector<double> w = normal_vector(d, 23), r = normal_vector(n, 24);
    const std::vector<double> weights3 = normal_vector(3 * d, 25), margins3 = normal_vector(3 * n, 26);
    std::array<std::vector<double>, 2> all;
    for (int threads = 1; threads <= 2; ++threads) {
      parley::set_thread_count(threads);
      const Matrix a = plain.matrix_from_rows();
      std::vector<double> margins(n), gradient(d), many(3 * n), back(3 * d);
      a.multiply(w, margins);
      a.multiply_transposed(r, gradient);
      a.multiply(weights3, 3, many);
      a.multiply_transposed(margins3, 3, back);
      auto& results = all[static_cast<std::size_t>(threads - 1)];
      for (const auto& part : {margins, gradient, many, back}) results.insert(results.end(), part.begin(), part.end());
      if (d <= 300) {
        std::vector<double> gram(d * d);
        weighted_gram(a, r, gram);
        results.insert(results.end(), gram.begin(), gram.end());
      }
      std::vector<double> column(d);
      gram_column(a, 0, column);
      results.insert(results.end(), column.begin(), column.end());
    }
    EXPECT_EQ(all[0], all[1]);
  }
}

TEST(Products, WorkWithoutRowsOrColumns) {
  const Matrix no_rows = Matrix::from_dense(0, 3, {});
  std::vector<double> g(3, 9.0);
  no_rows.multiply_transposed({}, g);
  EXPECT_EQ(g, std::vector<double>(3));
  no_rows.multiply(g, {});
  const Matrix no_columns = Matrix::from_dense(4, 0, {});
  std::vector<double> m(4, 9.0);
  no_columns.multiply({}, m);
  EXPECT_EQ(m, std::vector<double>(4));
  no_columns.multiply_transposed(m, {});
  EXPECT_EQ(no_columns.row(2).size(), 0U);
}

TEST(Products, TenMillionColumnsWithFewEntriesCostLittle) {
  const Index cols = 10'000'000;
  const Matrix a = Matrix::from_rows(cols, std::vector<std::size_t>{0, 2, 3}, std::vector<Index>{5, 9'999'999, 5},
                                     std::vector<double>{1, 0.3, 2});
  // 16 bytes of table per column.
  EXPECT_LT(a.bytes(), 170'000'000U);
  std::vector<double> w(static_cast<std::size_t>(cols), 1.0), margins(2);
  a.multiply(w, margins);
  EXPECT_EQ(margins, (std::vector<double>{1.3, 2.0}));
  a.multiply_transposed(std::vector<double>{1, 1}, w);
  EXPECT_EQ(w[5], 3.0);
  EXPECT_EQ(w[9'999'999], 0.3);
  EXPECT_EQ(w[6], 0.0);
}
