#include "parley/glm/penalties.h"

#include <gtest/gtest.h>

#include <vector>

using namespace parley::glm;

namespace {

class EveryPenalty : public testing::TestWithParam<Penalty> {};

std::vector<double> grid(double reach, double spacing) {
  std::vector<double> points;
  const int count = static_cast<int>(reach / spacing);
  for (int i = -count; i <= count; ++i) points.push_back(i * spacing);
  return points;
}

}  // namespace

TEST_P(EveryPenalty, ProximalPointBeatsEveryOtherPoint) {
  const Penalty penalty = GetParam();
  for (const double step : {0.1, 1.0, 5.0})
    for (const double v : grid(4, 0.4)) {
      const auto cost = [&](double w) { return step * penalty.value(w) + 0.5 * (w - v) * (w - v); };
      const double w = penalty.prox(step, v);
      for (const double other : grid(5, 0.01)) EXPECT_LE(cost(w), cost(other) + 1e-14);
    }
}

TEST_P(EveryPenalty, SubgradientDistanceVanishesExactlyAtTheProximalPoint) {
  const Penalty penalty = GetParam();
  for (const double v : grid(4, 0.25)) {
    const double w = penalty.prox(1.0, v);
    EXPECT_NEAR(penalty.subgradient_distance(w, w - v), 0, 1e-15);
    EXPECT_NEAR(penalty.subgradient_distance(w + 1.0, w + 1.0 - v), 1.0 + penalty.l2, 1.0 + 2 * penalty.l1);
    EXPECT_GT(penalty.subgradient_distance(w + 1.0, w + 1.0 - v), 0.5);
  }
}

TEST_P(EveryPenalty, ConjugateIsTheLargestValueOverWeights) {
  const Penalty penalty = GetParam();
  for (const double u : grid(2, 0.09)) {
    double best = 0;
    for (const double w : grid(200, 0.01)) best = std::max(best, u * w - penalty.value(w));
    const double conjugate = penalty.conjugate(u);
    if (std::isinf(conjugate))
      EXPECT_GT(best, 3);  // grows with the grid's reach
    else
      EXPECT_NEAR(conjugate, best, 1e-3 + 1e-9 * best);
    EXPECT_GE(conjugate, best - 1e-9);
  }
}

TEST_P(EveryPenalty, OverCoordinatesAddsUp) {
  const Penalty penalty = GetParam();
  const std::vector<double> w = {0, -1.5, 2};
  const std::vector<double> g = {0.9, 0.1, -3};
  double value = 0;
  double distance = 0;
  for (std::size_t j = 0; j < 3; ++j) {
    value += penalty.value(w[j]);
    distance = std::max(distance, penalty.subgradient_distance(w[j], g[j]));
  }
  EXPECT_NEAR(penalty.value(w), value, 1e-15);
  EXPECT_EQ(penalty.subgradient_distance(w, g), distance);
  std::vector<double> out(3);
  penalty.prox(0.5, g, out);
  for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(out[j], penalty.prox(0.5, g[j]));
}

INSTANTIATE_TEST_SUITE_P(Penalties, EveryPenalty,
                         testing::Values(no_penalty(), l1_penalty(0.7), l2_penalty(0.4), elastic_net(0.7, 0.4)),
                         [](const auto& test) {
                           const Penalty p = test.param;
                           return std::string(p.l1 > 0 ? (p.l2 > 0 ? "ElasticNet" : "L1") : (p.l2 > 0 ? "L2" : "None"));
                         });
