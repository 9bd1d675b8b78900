#include "parley/privacy/sensitivity/exact_sums.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <random>

#include "parley/core/threads.h"
#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/batch_sum.h"

using namespace parley;
using namespace parley::privacy;
using linalg::Index;
using linalg::Matrix;

namespace {

// Some columns 0/1, some whole numbers, some real; half of the entries zero.
std::vector<double> random_table(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> table(rows * cols);
  for (std::size_t j = 0; j < cols; ++j)
    for (std::size_t i = 0; i < rows; ++i) {
      const double u = uniform(random);
      double& cell = table[j * rows + i];
      if (uniform(random) < 0) continue;
      cell = j % 3 == 0 ? 1.0 : j % 3 == 1 ? std::round(100 * u) : u;
    }
  return table;
}

std::vector<double> bounds_of(std::size_t cols) {
  std::vector<double> bounds;
  for (std::size_t j = 0; j < cols; ++j) bounds.push_back(j % 3 == 1 ? 100 : 1);
  return bounds;
}

GridFeatures grid(const std::vector<double>& table, Index rows, Index cols, const std::vector<double>& scale = {}) {
  Matrix matrix = Matrix::from_dense(rows, cols, table);
  std::vector<double> bounds = bounds_of(static_cast<std::size_t>(cols));
  if (!scale.empty()) {
    matrix = matrix.with_column_scale(scale);
    for (std::size_t j = 0; j < bounds.size(); ++j) bounds[j] *= std::abs(scale[j]);
  }
  return *GridFeatures::make(matrix, bounds);
}

std::vector<double> random_derivatives(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> q(count);
  for (double& each : q) each = normal(random);
  return q;
}

}  // namespace

TEST(GridFeatures, LeaveWhatIsOnTheGridAlone) {
  const Matrix matrix = Matrix::from_dense(3, 2, std::vector<double>{1, 0, 1, 100, -3, 7});
  const auto features = GridFeatures::make(matrix.with_column_scale({1.0, 1.0 / 100}), std::vector<double>{1, 1});
  ASSERT_TRUE(features);
  for (Index i = 0; i < 3; ++i)
    for (Index j = 0; j < 2; ++j) EXPECT_EQ(features->matrix().at(i, j), matrix.at(i, j) * (j == 0 ? 1.0 : 1.0 / 100));
  EXPECT_EQ(features->clipped(), 0U);
}

TEST(GridFeatures, ClipRoundAndCount) {
  const Matrix matrix = Matrix::from_dense(4, 1, std::vector<double>{0.3, 7.0, std::nan(""), -1.0 / 3});
  const auto features = GridFeatures::make(matrix, std::vector<double>{1});
  ASSERT_TRUE(features);
  EXPECT_NEAR(features->matrix().at(0, 0), 0.3, 1e-6);
  EXPECT_EQ(features->matrix().at(1, 0), features->bound(0));
  EXPECT_EQ(features->matrix().at(2, 0), 0);
  EXPECT_EQ(features->clipped(), 2U);
  EXPECT_LE(features->bound(0), 1.0);
}

TEST(GridFeatures, NeedABoundForEveryColumn) {
  const Matrix matrix = Matrix::from_dense(1, 1, std::vector<double>{1});
  EXPECT_FALSE(GridFeatures::make(matrix, std::vector<double>{}));
  EXPECT_FALSE(GridFeatures::make(matrix, std::vector<double>{0}));
  EXPECT_FALSE(GridFeatures::make(matrix, std::vector<double>{std::nan("")}));
  EXPECT_FALSE(GridFeatures::make(matrix, std::vector<double>{INFINITY}));
}

class ExactSumsTest : public ::testing::Test {
 protected:
  static constexpr Index kRows = 60, kCols = 12;
  static std::vector<double> all_scores(ExactSums& sums) {
    return Gate::in_the_clear(sums.scores(VertexRule{}), Unprotected{}).value();
  }
};

TEST_F(ExactSumsTest, ARowAtATimeEqualsOnePassBitForBit) {
  for (const int classes : {1, 3}) {
    std::vector<double> scale;
    for (Index j = 0; j < kCols; ++j) scale.push_back(1.0 / (1 + j));
    const GridFeatures features = grid(random_table(kRows, kCols, 1), kRows, kCols, scale);
    const SumSettings settings{.derivative_bound = 1.3, .classes = classes, .constant = true};
    ExactSums whole = *ExactSums::make(features, settings);
    ExactSums rows = *ExactSums::make(features, settings);
    const auto k = static_cast<std::size_t>(classes);
    const auto before = random_derivatives(kRows * k, 2);
    const auto q = random_derivatives(kRows * k, 3);
    rows.assign(before);
    for (const std::size_t i : {std::size_t{7}, std::size_t{0}})
      rows.assign_row(static_cast<Index>(i), std::span(q).subspan(i * k, k));
    for (std::size_t i = kRows; i-- > 0;) rows.assign_row(static_cast<Index>(i), std::span(q).subspan(i * k, k));
    whole.assign(q);
    EXPECT_EQ(all_scores(rows), all_scores(whole));
    set_thread_count(1);
    ExactSums single = *ExactSums::make(features, settings);
    single.assign(q);
    set_thread_count(2);
    EXPECT_EQ(all_scores(single), all_scores(whole));
  }
}

TEST_F(ExactSumsTest, ACoordinateAtATimeEqualsOnePassBitForBit) {
  for (const int classes : {1, 3}) {
    const GridFeatures features = grid(random_table(30, 7, 3), 30, 7);
    const SumSettings settings{.classes = classes, .constant = true};
    ExactSums at_once = *ExactSums::make(features, settings), held = *ExactSums::make(features, settings);
    const auto count = static_cast<std::size_t>(30 * classes);
    const std::vector<double> q = random_derivatives(count, 4);
    at_once.assign(q);
    held.hold(random_derivatives(count, 5));
    std::vector<Index> rows(30);
    std::iota(rows.begin(), rows.end(), 0);
    held.hold_rows(rows, q);
    for (std::size_t c = 0; c < held.coordinates(); ++c) held.add_up(c);
    EXPECT_EQ(all_scores(at_once), all_scores(held));
  }
}

// One class without a constant column: short columns are summed by rows, long ones by columns.
TEST_F(ExactSumsTest, ShortAndLongColumnsSumToTheSameBits) {
  for (const Index rows : {40, 2000}) {
    const GridFeatures features = grid(random_table(static_cast<std::size_t>(rows), kCols, 6), rows, kCols);
    ExactSums once = *ExactSums::make(features, {}), one_by_one = *ExactSums::make(features, {});
    const auto q = random_derivatives(static_cast<std::size_t>(rows), 7);
    once.assign(random_derivatives(static_cast<std::size_t>(rows), 8));  // nothing of it may stay
    once.assign(q);
    one_by_one.hold(q);
    for (std::size_t c = 0; c < one_by_one.coordinates(); ++c) one_by_one.add_up(c);
    EXPECT_EQ(all_scores(once), all_scores(one_by_one)) << rows;
  }
}

TEST_F(ExactSumsTest, ScoresAreTheGradientOfTheClippedDerivatives) {
  const auto table = random_table(kRows, kCols, 4);
  const GridFeatures features = grid(table, kRows, kCols);
  ExactSums sums = *ExactSums::make(features, {.derivative_bound = 0.8});
  const auto q = random_derivatives(kRows, 5);
  sums.assign(q);
  const auto scores = all_scores(sums);
  for (std::size_t j = 0; j < kCols; ++j) {
    double expected = 0;
    for (std::size_t i = 0; i < kRows; ++i) expected += table[j * kRows + i] * std::clamp(q[i], -0.8, 0.8) / kRows;
    EXPECT_NEAR(scores[2 * j], -expected, 1e-4) << j;
    EXPECT_EQ(scores[2 * j + 1], -scores[2 * j]);
  }
}

TEST_F(ExactSumsTest, NoNeighbourExceedsTheStatedSensitivity) {
  // Worst neighbours: the record's derivative flips from one end to the other on an extreme row; and random ones.
  std::mt19937_64 random(11);
  std::vector<double> table = random_table(kRows, kCols, 6);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t i = random() % kRows;
    std::vector<double> other = table;
    for (std::size_t j = 0; j < kCols; ++j) {
      const double bound = j % 3 == 1 ? 100 : 1;
      table[j * kRows + i] = trial % 2 == 0 ? bound : table[j * kRows + i];
      other[j * kRows + i] = trial % 2 == 0 ? bound : bound * std::uniform_real_distribution<double>(-2, 2)(random);
    }
    auto q = random_derivatives(kRows, random());
    auto q_other = q;
    q[i] = trial % 3 == 0 ? 1e9 : q[i];
    q_other[i] = trial % 3 == 0 ? -1e9 : trial % 3 == 1 ? std::nan("") : -q[i];
    const GridFeatures mine = grid(table, kRows, kCols), theirs = grid(other, kRows, kCols);
    ExactSums a = *ExactSums::make(mine, {.derivative_bound = 0.7});
    ExactSums b = *ExactSums::make(theirs, {.derivative_bound = 0.7});
    a.assign(q);
    b.assign(q_other);
    const auto scores_a = all_scores(a), scores_b = all_scores(b);
    for (std::size_t v = 0; v < scores_a.size(); ++v)
      ASSERT_LE(std::abs(scores_a[v] - scores_b[v]), a.score(VertexRule{}, v).sensitivity()) << trial << " " << v;
    ASSERT_EQ(a.score_sensitivity(VertexRule{}), b.score_sensitivity(VertexRule{})) << "the bound is public";
  }
}

TEST_F(ExactSumsTest, TheBoundIsReachedUpToItsRounding) {
  const GridFeatures features = grid(std::vector<double>(kRows * kCols, 1.0), kRows, kCols);
  ExactSums a = *ExactSums::make(features, {.derivative_bound = 1});
  std::vector<double> q(kRows, 0.25);
  a.assign(q);
  const double before = all_scores(a)[0];
  a.assign_row(3, 1.0);
  const double up = all_scores(a)[0];
  a.assign_row(3, -1.0);
  EXPECT_NE(before, up);
  EXPECT_NEAR(std::abs(all_scores(a)[0] - up), a.score(VertexRule{}, 0).sensitivity(),
              1e-4 * a.score(VertexRule{}, 0).sensitivity());
}

TEST_F(ExactSumsTest, TouchedCoordinatesAreThoseOfTheChangedRows) {
  const GridFeatures features = *GridFeatures::make(Matrix::from_dense(2, 3, std::vector<double>{1, 0, 0, 1, 1, 1}),
                                                    std::vector<double>{1, 1, 1});
  ExactSums sums = *ExactSums::make(features, {});
  sums.assign_row(0, 0.5);
  EXPECT_EQ(std::vector<std::uint32_t>(sums.touched().begin(), sums.touched().end()),
            (std::vector<std::uint32_t>{0, 2}));
  sums.forget_touched();
  sums.assign_row(0, 0.5);  // no change
  EXPECT_TRUE(sums.touched().empty());
}

TEST_F(ExactSumsTest, APublicOffsetTooLargeForFloatingPointHasNoBound) {
  const GridFeatures features = grid(random_table(kRows, kCols, 8), kRows, kCols);
  const ExactSums sums = *ExactSums::make(features, {});
  const std::vector<double> huge(kCols, 1e15);
  EXPECT_EQ(sums.score(VertexRule{huge}, 0).sensitivity(), INFINITY);
}

TEST_F(ExactSumsTest, RefusesABoundThatIsNone) {
  const GridFeatures features = grid(random_table(kRows, kCols, 8), kRows, kCols);
  EXPECT_FALSE(ExactSums::make(features, {.derivative_bound = 0}));
  EXPECT_FALSE(ExactSums::make(features, {.derivative_bound = std::nan("")}));
  EXPECT_FALSE(ExactSums::make(features, {.derivative_bound = INFINITY}));
  EXPECT_FALSE(ExactSums::make(features, {.classes = 0}));
}

// A list of scores is what it was when its bound was stated, whatever its sums are asked next, and without them.
TEST_F(ExactSumsTest, ScoresStayAsTheyAreWhileSomebodyHoldsThem) {
  const GridFeatures features = grid(random_table(kRows, kCols, 8), kRows, kCols);
  std::optional<ExactSums> sums = *ExactSums::make(features, {});
  sums->assign(random_derivatives(kRows, 9));
  const auto held = sums->scores(VertexRule{});
  const std::vector<double> before = Gate::in_the_clear(held, Unprotected{}).value();
  const std::vector<double> large(kCols, 500.0);
  const auto next = sums->scores(VertexRule{large});
  EXPECT_EQ(Gate::in_the_clear(held, Unprotected{}).value(), before);
  EXPECT_NE(Gate::in_the_clear(next, Unprotected{}).value(), before);
  ExactSums copy = *sums;
  const auto of_copy = copy.scores(VertexRule{});
  EXPECT_NE(Gate::in_the_clear(next, Unprotected{}).value(), before) << "a copy of the sums makes lists of its own";
  sums.reset();
  EXPECT_EQ(Gate::in_the_clear(held, Unprotected{}).value(), before);
}

// 200,000 equal entries lose more in their norm than 1e-12 of it, which was the room once.
TEST(BatchSum, NormsOfRowsAreNeverBelowTheTrueOnes) {
  constexpr std::size_t kEntries = 200'000;
  for (const double entry : {0.8247800469398499, 0.19686418771743774, 0.12560677528381348, 1e-160})
    for (const bool constant : {false, true}) {
      const GridFeatures features =
          *GridFeatures::make(Matrix::from_dense(1, kEntries, std::vector<double>(kEntries, entry)),
                              std::vector<double>(kEntries, entry < 1e-100 ? 2 * entry : 1.0));
      const double stated = row_norms_upward(features, constant).front();
      mpq_class squares = constant ? 1 : 0;
      for (std::size_t j = 0; j < kEntries; ++j) {
        const mpq_class here(features.matrix().at(0, static_cast<Index>(j)));
        squares += here * here;
      }
      EXPECT_GE(mpq_class(stated) * stated, squares) << entry;
      if (entry > 1e-100) {
        EXPECT_LE(stated, std::sqrt(squares.get_d()) * (1 + 1e-10));
      }
    }
}
