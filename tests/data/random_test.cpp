#include "parley/data/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace parley::data;

// Seeds are fixed, so statistical expectations below either hold for ever or never; bounds are five standard errors.

TEST(PortableLog, AgreesWithTheLibraryToAFewBits) {
  Random random(3);
  for (int k = 0; k < 20000; ++k) {
    const double x = std::exp(700 * (2 * random.uniform() - 1));
    EXPECT_NEAR(portable_log(x), std::log(x), 4e-16 * std::max(1.0, std::abs(std::log(x))));
    const double near_one = 1 + 1e-3 * random.normal();
    EXPECT_NEAR(portable_log(near_one), std::log(near_one), 4e-16 * std::abs(std::log(near_one)));
  }
  EXPECT_EQ(portable_log(1.0), 0.0);
}

TEST(PortableLog1p, KeepsTinyArguments) {
  for (const double x : {1e-18, -1e-12, 1e-5, -0.2, 0.24, 0.5, -0.9, 3.0})
    EXPECT_NEAR(portable_log1p(x), std::log1p(x), 4e-16 * std::abs(std::log1p(x))) << x;
}

TEST(PortableExp, AgreesWithTheLibraryToAFewBits) {
  for (double x = -707; x < 709; x += 0.37) EXPECT_NEAR(portable_exp(x) / std::exp(x), 1.0, 1e-15) << x;
  EXPECT_EQ(portable_exp(0), 1.0);
  EXPECT_EQ(portable_exp(-1000), 0.0);
  EXPECT_TRUE(std::isinf(portable_exp(1000)));
}

TEST(Random, GivesTheSameBitsForEver) {
  Random random(42, 2, 7);
  EXPECT_EQ(random.bits(), 1112329419253463957ULL);
  EXPECT_EQ(random.bits(), 13093065801918760420ULL);
  EXPECT_EQ(random.uniform(), 0.57526443688812179);
  EXPECT_EQ(random.normal(), 1.5529126814049954);
  EXPECT_EQ(random.normal(), 0.5338721430101625);
  EXPECT_EQ(random.log_gamma_variate(0.3), -10.427009224197054);
}

TEST(Random, StreamsDifferInEveryNumber) {
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    for (std::uint64_t purpose = 0; purpose < 5; ++purpose)
      for (std::uint64_t number = 0; number < 5; ++number) first.insert(Random(seed, purpose, number).bits());
  EXPECT_EQ(first.size(), 125u);
}

TEST(Random, NormalHasTheMomentsAndTailsOfTheNormalLaw) {
  constexpr int kDraws = 200000;
  Random random(1);
  double mean = 0;
  double square = 0;
  double fourth = 0;
  int beyond_one = 0;
  int beyond_three = 0;
  for (int k = 0; k < kDraws; ++k) {
    const double z = random.normal();
    mean += z / kDraws;
    square += z * z / kDraws;
    fourth += z * z * z * z / kDraws;
    beyond_one += z > 1;
    beyond_three += std::abs(z) > 3;
  }
  const double unit = 1 / std::sqrt(kDraws);
  EXPECT_NEAR(mean, 0, 5 * unit);
  EXPECT_NEAR(square, 1, 5 * std::sqrt(2.0) * unit);
  EXPECT_NEAR(fourth, 3, 5 * std::sqrt(96.0) * unit);
  EXPECT_NEAR(beyond_one / double{kDraws}, 0.158655, 5 * 0.366 * unit);
  EXPECT_NEAR(beyond_three / double{kDraws}, 0.0026998, 5 * 0.052 * unit);
}

TEST(Random, BelowIsUniform) {
  Random random(9);
  std::vector<int> seen(7);
  for (int k = 0; k < 70000; ++k) ++seen[random.below(7)];
  for (const int count : seen) EXPECT_NEAR(count, 10000, 5 * 93);  // binomial deviation 92.6
}

TEST(Random, GammaHasItsMeanAndVariance) {
  for (const double shape : {0.3, 1.0, 4.5}) {
    Random random(5);
    constexpr int kDraws = 100000;
    double mean = 0;
    double square = 0;
    for (int k = 0; k < kDraws; ++k) {
      const double g = std::exp(random.log_gamma_variate(shape));
      mean += g / kDraws;
      square += g * g / kDraws;
    }
    EXPECT_NEAR(mean, shape, 5 * std::sqrt(shape / kDraws));
    // Var(g^2) <= E g^4 = shape (shape+1) (shape+2) (shape+3).
    EXPECT_NEAR(square, shape * (shape + 1), 5 * std::sqrt(shape * (shape + 1) * (shape + 2) * (shape + 3) / kDraws));
  }
}

TEST(Successes, VisitEachTrialWithItsProbability) {
  constexpr std::uint64_t kTrials = 50;
  for (const double p : {0.02, 0.3, 0.9}) {
    const Successes successes(p, kTrials);
    std::vector<int> hits(kTrials);
    constexpr int kRounds = 20000;
    for (int round = 0; round < kRounds; ++round) {
      Random random(8, 1, static_cast<std::uint64_t>(round));
      std::uint64_t previous = kTrials;
      successes.draw(random, [&](std::uint64_t trial) {
        ASSERT_LT(trial, kTrials);
        ASSERT_TRUE(previous == kTrials || trial > previous);
        previous = trial;
        ++hits[trial];
      });
    }
    for (const int count : hits) EXPECT_NEAR(count, p * kRounds, 5 * std::sqrt(p * (1 - p) * kRounds)) << p;
  }
}

TEST(Successes, CertaintyVisitsAllAndImpossibilityNone) {
  Random random(1);
  int count = 0;
  Successes(1.0, 1000).draw(random,
                            [&](std::uint64_t trial) { EXPECT_EQ(trial, static_cast<std::uint64_t>(count++)); });
  EXPECT_EQ(count, 1000);
  Successes(0.0, 1000).draw(random, [&](std::uint64_t) { ADD_FAILURE(); });
  Successes(1e-300, 1000).draw(random, [&](std::uint64_t) { ADD_FAILURE(); });
}

TEST(DistinctNumbers, AreDistinctAscendingAndAllWhenAllAreAskedFor) {
  Random random(2);
  const auto some = distinct_numbers(random, 50, 1000000007);
  EXPECT_TRUE(std::is_sorted(some.begin(), some.end()));
  EXPECT_EQ(std::set<std::uint64_t>(some.begin(), some.end()).size(), 50u);
  const auto all = distinct_numbers(random, 20, 20);
  for (std::uint64_t k = 0; k < 20; ++k) EXPECT_EQ(all[k], k);
}

TEST(Shuffle, KeepsEveryItem) {
  Random random(2);
  std::vector<std::uint32_t> items(100);
  std::iota(items.begin(), items.end(), 0u);
  shuffle(random, items);
  EXPECT_FALSE(std::is_sorted(items.begin(), items.end()));
  std::sort(items.begin(), items.end());
  for (std::uint32_t k = 0; k < 100; ++k) EXPECT_EQ(items[k], k);
}

TEST(Dirichlet, LiesOnTheSimplexForTinyAndHugeParameters) {
  for (const double alpha : {1e-6, 0.1, 1.0, 1e6}) {
    Random random(4);
    const auto share = dirichlet(random, alpha, 10);
    EXPECT_NEAR(std::accumulate(share.begin(), share.end(), 0.0), 1.0, 1e-12);
    for (const double s : share) EXPECT_GE(s, 0.0);
    const double largest = *std::max_element(share.begin(), share.end());
    if (alpha == 1e6) {
      EXPECT_NEAR(largest, 0.1, 1e-3);
    }
    if (alpha == 1e-6) {
      EXPECT_GT(largest, 0.999);
    }
  }
}
