#include "parley/privacy/sensitivity/bin_counts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

namespace {

std::vector<double> seen(const Sensitive<GridVector, L2>& value) {
  return Gate::in_the_clear(value, Unprotected{}).value();
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  for (std::size_t k = 0; k < a.size(); ++k) squares += (a[k] - b[k]) * (a[k] - b[k]);
  return std::sqrt(squares);
}

}  // namespace

TEST(BinCounts, CountEveryRecordOnceForEachQuantity) {
  const BinRule rule{.edges = {0.25, 0.5, 1}, .quantities = 2};
  const auto counts = bin_counts(Private(Contributions{{0.25, 0.3, 2.0, 0.0, 1.0, 1.0}, 2}), rule);
  ASSERT_TRUE(counts);
  EXPECT_EQ(seen(*counts), (std::vector<double>{1, 0, 1, 1, 1, 1, 1, 0}));
}

TEST(BinCounts, LeaveOutWhatIsNotANumber) {
  const BinRule rule{.edges = {1}};
  const double infinity = std::numeric_limits<double>::infinity();
  const auto counts = bin_counts(Private(Contributions{{std::nan(""), infinity, -infinity}, 1}), rule);
  ASSERT_TRUE(counts);
  EXPECT_EQ(seen(*counts), (std::vector<double>{1, 1}));
}

TEST(BinCounts, NeighboursAreNoFurtherApartThanStatedAndSomeAreAsFar) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> value(-0.2, 1.2);
  for (const Neighbours neighbours : {Neighbours::kReplaceOne, Neighbours::kAddRemove}) {
    const BinRule rule{.edges = {0.1, 0.2, 0.4, 0.8}, .quantities = 3, .neighbours = neighbours};
    double furthest = 0;
    for (int trial = 0; trial < 500; ++trial) {
      std::vector<double> records(5 * 3);
      for (double& each : records) each = random() % 10 == 0 ? std::nan("") : value(random);
      std::vector<double> neighbour = records;
      if (neighbours == Neighbours::kReplaceOne)
        for (std::size_t k = 0; k < 3; ++k) neighbour[k] = value(random);
      else
        neighbour.resize(4 * 3);
      const auto one = bin_counts(Private(Contributions{records, 3}), rule);
      const auto other = bin_counts(Private(Contributions{neighbour, 3}), rule);
      ASSERT_TRUE(one && other);
      furthest = std::max(furthest, distance(seen(*one), seen(*other)));
      ASSERT_LE(furthest, one->sensitivity());
    }
    EXPECT_NEAR(furthest, bin_counts_sensitivity(rule), 1e-9);
  }
}

TEST(BinCounts, RefuseEdgesThatDoNotAscendAndRecordsOfAnotherLength) {
  EXPECT_FALSE(bin_counts(Private(Contributions{{1, 2}, 1}), {.edges = {2, 1}}));
  EXPECT_FALSE(bin_counts(Private(Contributions{{1, 2}, 1}), {.edges = {}}));
  EXPECT_FALSE(bin_counts(Private(Contributions{{1, 2, 3}, 1}), {.edges = {1}, .quantities = 2}));
}
