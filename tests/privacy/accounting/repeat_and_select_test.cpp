#include "parley/privacy/accounting/repeat_and_select.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "parley/privacy/accounting/accountant.h"

using namespace parley;
using namespace parley::privacy;

namespace {
const Delta kDelta = *Delta::make(1e-6);
Plan gaussian(double sigma) {
  return {Neighbours::kReplaceOne, {{Gaussian{sigma, 1.0}, 1}}};
}
}  // namespace

TEST(RandomRepetitions, FollowTheLogarithmicLaw) {
  // 4 sigma and a union over 6 cells: false alarm below 4e-4 for a random seed; the seed is fixed.
  const RandomRepetitions repetitions = *RandomRepetitions::make(5);
  SeededGenerator bits(3);
  constexpr int kDraws = 200000;
  std::array<int, 6> seen{};
  double total = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::int64_t k = repetitions.draw(bits);
    ASSERT_GE(k, 1);
    total += static_cast<double>(k);
    if (k <= 6) ++seen[static_cast<std::size_t>(k - 1)];
  }
  // E K = (m-1)/ln m >= 5 first at m = 15.
  const double m = 15, g = 1 / m;
  EXPECT_DOUBLE_EQ(repetitions.expected(), (m - 1) / std::log(m));
  for (std::size_t k = 1; k <= 6; ++k) {
    const double p = std::pow(1 - g, static_cast<double>(k)) / (static_cast<double>(k) * std::log(m));
    EXPECT_NEAR(seen[k - 1], kDraws * p, 4 * std::sqrt(kDraws * p)) << k;
  }
  EXPECT_NEAR(total / kDraws, repetitions.expected(), 0.1);
}

TEST(RandomRepetitions, CostMoreThanOneRunAndLessThanAllOfThem) {
  for (const double expected : {2.0, 10.0, 100.0}) {
    const RandomRepetitions repetitions = *RandomRepetitions::make(expected);
    const Plan one = gaussian(10);
    const double tuned = *repetitions.epsilon_at(std::vector{one}, kDelta);
    EXPECT_GT(tuned, *epsilon_at(one, kDelta));
    EXPECT_LT(tuned, 5 * *epsilon_at(one, kDelta));
  }
}

TEST(RandomRepetitions, CostAtLeastTheFormulaAtEveryOrder) {
  // The formula by hand, for a Gaussian with D_a = a mu^2 / 2, over a dense grid of both orders.
  const RandomRepetitions repetitions = *RandomRepetitions::make(10);
  const double rho = 1.0 / 200, log_mean = std::log(repetitions.expected());
  double inverse = 2;
  while ((inverse - 1) / std::log(inverse) < 10) ++inverse;
  double least = INFINITY;
  for (double a = 1.01; a < 1e4; a *= 1.003) {
    double constant = std::log(inverse);
    for (double b = 1.001; b < 1e4; b *= 1.01)
      constant = std::min(constant, (1 - 1 / b) * b * rho + std::log(inverse) / b);
    const double divergence = a * rho + constant + log_mean / (a - 1);
    least = std::min(least, divergence + std::log1p(-1 / a) - std::log(1e-6 * a) / (a - 1));
  }
  const double tuned = *repetitions.epsilon_at(std::vector{gaussian(10)}, kDelta);
  EXPECT_NEAR(tuned, least, 1e-3 * least);
}

TEST(RandomRepetitions, TheDearestPlanDecides) {
  const RandomRepetitions repetitions = *RandomRepetitions::make(5);
  EXPECT_EQ(*repetitions.epsilon_at(std::vector{gaussian(5), gaussian(50)}, kDelta),
            *repetitions.epsilon_at(std::vector{gaussian(5)}, kDelta));
}

TEST(RandomRepetitions, RefuseWhatHasNoMeaning) {
  EXPECT_FALSE(RandomRepetitions::make(0.5));
  EXPECT_FALSE(RandomRepetitions::make(std::nan("")));
  EXPECT_FALSE(RandomRepetitions::make(1e9));
  const RandomRepetitions repetitions = *RandomRepetitions::make(5);
  EXPECT_FALSE(repetitions.epsilon_at({}, kDelta));
  EXPECT_FALSE(repetitions.epsilon_at(std::vector{Plan{Neighbours::kReplaceOne, {{ApproxDp{0.1, 1e-7}, 1}}}}, kDelta));
}
