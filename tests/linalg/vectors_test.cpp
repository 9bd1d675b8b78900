#include "parley/linalg/vectors.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "parley/core/threads.h"

using namespace parley::linalg;

TEST(Norms, FollowTheirDefinitions) {
  const std::vector<double> x = {3, -4, 0};
  EXPECT_EQ(l1_norm(x), 7);
  EXPECT_EQ(l2_norm(x), 5);
  EXPECT_EQ(linf_norm(x), 4);
  EXPECT_EQ(squared_norm(x), 25);
  EXPECT_EQ(l1_norm({}), 0);
  EXPECT_EQ(l2_norm({}), 0);
  EXPECT_EQ(linf_norm({}), 0);
}

TEST(Norms, L2NeitherOverflowsNorUnderflows) {
  EXPECT_DOUBLE_EQ(l2_norm(std::vector<double>{3e200, 4e200}), 5e200);
  EXPECT_DOUBLE_EQ(l2_norm(std::vector<double>{3e-200, 4e-200}), 5e-200);
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(l2_norm(std::vector<double>{tiny}), tiny);
}

TEST(TopK, ChoosesLargestMagnitudesAndTheLowerIndexOfEquals) {
  const std::vector<double> x = {1, -3, 2, 3, -2, 0};
  EXPECT_EQ(top_k(x, 1), (std::vector<Index>{1}));
  EXPECT_EQ(top_k(x, 3), (std::vector<Index>{1, 2, 3}));
  EXPECT_EQ(top_k(x, 0), (std::vector<Index>{}));
  EXPECT_EQ(top_k(x, 9).size(), x.size());
}

TEST(TopK, AgreesWithASortOnManyTies) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> x(1 + random() % 500);
    for (double& v : x) v = static_cast<int>(random() % 7) - 3;
    std::vector<Index> order(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) order[i] = static_cast<Index>(i);
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
      return std::abs(x[static_cast<std::size_t>(a)]) > std::abs(x[static_cast<std::size_t>(b)]);
    });
    const std::size_t k = random() % x.size();
    order.resize(k);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(top_k(x, k), order);
  }
}

TEST(Thresholds, SoftShrinksTowardsZero) {
  std::vector<double> x = {3, -3, 0.5, -1, 0};
  soft_threshold(x, 1.0);
  EXPECT_EQ(x, (std::vector<double>{2, -2, 0, 0, 0}));
}

TEST(Thresholds, HardKeepsTheChosenEntriesUntouched) {
  std::vector<double> x = {3, -3, 0.5, -1, 0};
  hard_threshold(x, 2);
  EXPECT_EQ(x, (std::vector<double>{3, -3, 0, 0, 0}));
  hard_threshold(x, 0);
  EXPECT_EQ(x, (std::vector<double>(5)));
}

TEST(Vectors, SumsDoNotDependOnTheNumberOfThreads) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> x(300'001), y(x.size());
  for (double& v : x) v = normal(random);
  for (double& v : y) v = normal(random);
  parley::set_thread_count(1);
  const double product = dot(x, y), sum = l1_norm(x);
  parley::set_thread_count(2);
  EXPECT_EQ(dot(x, y), product);
  EXPECT_EQ(l1_norm(x), sum);
  parley::set_thread_count(0);
}
