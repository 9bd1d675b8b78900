#include "parley/privacy/sensitivity/residual_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;
using linalg::Index;
using linalg::Matrix;

namespace {

constexpr Index kRows = 50, kCols = 12;

std::vector<double> table(double density, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values;
  for (Index at = 0; at < kRows * kCols; ++at) {
    const double value = std::nearbyint(uniform(random) * 64) / 64;
    values.push_back(std::abs(uniform(random)) < density ? value : 0.0);
  }
  return values;
}

std::vector<double> labels(unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-2, 2);
  std::vector<double> y(kRows);
  for (double& value : y) value = std::nearbyint(uniform(random) * 64) / 64;
  return y;
}

GridFeatures grid(const std::vector<double>& values) {
  return *GridFeatures::make(Matrix::from_dense(kRows, kCols, values), std::vector<double>(kCols, 1.0));
}

double gradient(const std::vector<double>& x, const std::vector<double>& y, const std::vector<double>& w, double l2,
                Index c) {
  double sum = 0;
  for (Index i = 0; i < kRows; ++i) {
    double margin = 0;
    for (Index j = 0; j < kCols; ++j)
      margin += x[static_cast<std::size_t>(j * kRows + i)] * w[static_cast<std::size_t>(j)];
    sum += x[static_cast<std::size_t>(c * kRows + i)] * (margin - y[static_cast<std::size_t>(i)]);
  }
  return sum / kRows + l2 * w[static_cast<std::size_t>(c)];
}

}  // namespace

TEST(ResidualSums, StatesTwiceTheLargestResidualOverTheRecords) {
  const GridFeatures features = grid(table(0.5, 1));
  const ResidualSettings settings{.radius = 3, .label_bound = 2, .steps = 10};
  EXPECT_EQ(ResidualSums::residual_bound(features, settings), 5);
  const auto sums = ResidualSums::make(features, labels(2), settings);
  ASSERT_TRUE(sums);
  EXPECT_NEAR(sums->score_sensitivity(), 2 * 5.0 / kRows, 1e-4);
  EXPECT_GE(sums->score_sensitivity(), 2 * 5.0 / kRows);
}

TEST(ResidualSums, OneRecordMovesNoGradientByMoreThanStated) {
  // The claim behind the number above, on records as far apart as the bounds allow, for points of the ball.
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  double largest = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> x = table(0.5, 4), y = labels(5);
    std::vector<double> w(kCols);
    if (trial % 2 == 0) {
      w[random() % kCols] = trial % 4 == 0 ? 3 : -3;
    } else {
      double norm = 0;
      for (double& value : w) norm += std::abs(value = normal(random));
      for (double& value : w) value *= 3 / norm;
    }
    std::vector<double> other = x, told = y;
    for (Index j = 0; j < kCols; ++j) {
      x[static_cast<std::size_t>(j * kRows)] = w[static_cast<std::size_t>(j)] < 0 ? -1 : 1;
      other[static_cast<std::size_t>(j * kRows)] = -1;
    }
    y[0] = -2;
    told[0] = 2;
    for (Index c = 0; c < kCols; ++c)
      largest = std::max(largest, std::abs(gradient(x, y, w, 0, c) - gradient(other, told, w, 0, c)));
  }
  EXPECT_LE(largest, 2 * 5.0 / kRows * (1 + 1e-12));
  EXPECT_GT(largest, 0.5 * 2 * 5.0 / kRows) << "the attack is a real one";
}

TEST(ResidualSums, RefusesWhatLeavesNoRoomAndWhatIsNoBound) {
  const GridFeatures features = grid(table(0.5, 6));
  EXPECT_FALSE(ResidualSums::make(features, labels(7), {.radius = 0, .label_bound = 1}));
  EXPECT_FALSE(ResidualSums::make(features, labels(7), {.radius = 1, .label_bound = std::nan("")}));
  EXPECT_FALSE(ResidualSums::make(features, std::vector<double>(3), {.radius = 1, .label_bound = 1}));
  EXPECT_FALSE(ResidualSums::make(features, labels(7), {.radius = 1, .label_bound = 1, .steps = 1'000'000'000'000}));
}

TEST(ResidualSums, CeilingsStayAsTheyAreWhileSomebodyHoldsThem) {
  const GridFeatures features = grid(table(0.5, 1));
  ResidualSums sums = *ResidualSums::make(features, labels(2), {.radius = 3, .label_bound = 2, .steps = 10});
  sums.add(0, 1.0);
  const auto held = sums.ceilings(0, 1);
  const std::vector<double> before = Gate::in_the_clear(held, Unprotected{}).value();
  sums.add(0, 1.0);
  const std::vector<std::uint32_t> some = {1, 0};
  const auto next = sums.ceilings_of(some, 0, 1), all = sums.ceilings(0, 1);
  EXPECT_EQ(Gate::in_the_clear(held, Unprotected{}).value(), before);
  EXPECT_EQ(Gate::in_the_clear(next, Unprotected{}).value().size(), 2U);
  EXPECT_NE(Gate::in_the_clear(all, Unprotected{}).value(), before);
}
