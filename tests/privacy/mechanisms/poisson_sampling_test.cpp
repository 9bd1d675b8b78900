#include "parley/privacy/mechanisms/poisson_sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/privacy/mechanisms/statistics.h"

using namespace parley;
using namespace parley::privacy;
using statistics::kAlarm;

TEST(PoissonSampling, EveryRecordJoinsWithTheRateAndIndependentlyOfItsNeighbour) {
  SeededGenerator bits(1);
  for (const double rate : {0.003, 0.1, 0.5, 0.9}) {
    const auto sampling = PoissonSampling::make(rate).value();
    constexpr std::size_t kRecords = 12;
    constexpr int kDraws = 30000;
    // The pattern of three neighbouring records has a product law, wherever they are.
    std::vector<double> patterns(8), law(8), singles(kRecords);
    std::vector<std::size_t> joined;
    for (int i = 0; i < kDraws; ++i) {
      sampling.draw(kRecords, bits, joined);
      unsigned mask = 0;
      for (const std::size_t record : joined) {
        mask |= 1u << record;
        ++singles.at(record);
      }
      ++patterns[(mask >> (i % 10)) & 7];
    }
    for (unsigned pattern = 0; pattern < 8; ++pattern)
      law[pattern] = std::pow(rate, std::popcount(pattern)) * std::pow(1 - rate, 3 - std::popcount(pattern));
    EXPECT_GT(statistics::p_value(patterns, law, kDraws), kAlarm) << rate;
    for (const double count : singles)
      EXPECT_GT(2 * kRecords *
                    std::min(statistics::binomial_at_least(count, kDraws, rate),
                             statistics::binomial_at_most(count, kDraws, rate)),
                kAlarm)
          << rate;
  }
}

TEST(PoissonSampling, LongListsHaveBinomialSizesAndSortedRecords) {
  SeededGenerator bits(2);
  for (const double rate : {1e-6, 1e-4, 0.02}) {
    const auto sampling = PoissonSampling::make(rate).value();
    constexpr std::size_t kRecords = 1'000'000;
    constexpr int kDraws = 20;
    std::vector<std::size_t> joined;
    double total = 0, first_half = 0;
    for (int i = 0; i < kDraws; ++i) {
      sampling.draw(kRecords, bits, joined);
      for (std::size_t j = 1; j < joined.size(); ++j) ASSERT_LT(joined[j - 1], joined[j]);
      ASSERT_TRUE(joined.empty() || joined.back() < kRecords);
      total += static_cast<double>(joined.size());
      first_half += static_cast<double>(std::lower_bound(joined.begin(), joined.end(), kRecords / 2) - joined.begin());
    }
    const double trials = static_cast<double>(kRecords) * kDraws;
    EXPECT_GT(
        std::min(statistics::binomial_at_least(total, trials, rate), statistics::binomial_at_most(total, trials, rate)),
        kAlarm / 2)
        << rate;
    EXPECT_GT(std::min(statistics::binomial_at_least(first_half, trials / 2, rate),
                       statistics::binomial_at_most(first_half, trials / 2, rate)),
              kAlarm / 2)
        << rate;
  }
}

TEST(PoissonSampling, RateOneTakesEverybodyAndNoRecordsGiveNone) {
  SeededGenerator bits(3);
  std::vector<std::size_t> joined;
  PoissonSampling::make(1.0).value().draw(5, bits, joined);
  std::vector<std::size_t> all(5);
  std::iota(all.begin(), all.end(), std::size_t{0});
  EXPECT_EQ(joined, all);
  PoissonSampling::make(0.5).value().draw(0, bits, joined);
  EXPECT_TRUE(joined.empty());
}

TEST(PoissonSampling, RefusesRatesThatAreNoProbability) {
  for (const double bad : {0.0, -0.1, 1.1, 1e-30, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(PoissonSampling::make(bad)) << bad;
}
