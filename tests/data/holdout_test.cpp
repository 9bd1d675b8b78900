#include "parley/data/holdout.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace parley;
using namespace parley::data;

TEST(HoldOut, IsADivisionOfTheRows) {
  const Holdout split = hold_out(1000, 0.2, 7).value();
  EXPECT_EQ(split.test.size(), 200U);
  std::vector<linalg::Index> all = split.train;
  all.insert(all.end(), split.test.begin(), split.test.end());
  std::sort(all.begin(), all.end());
  std::vector<linalg::Index> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

// The split is part of a result's identity: these rows must never change.
TEST(HoldOut, IsTheSameOnEveryMachine) {
  EXPECT_EQ(hold_out(12, 0.25, 7).value().test, (std::vector<linalg::Index>{2, 6, 10}));
}

TEST(HoldOut, DependsOnTheSeed) {
  EXPECT_NE(hold_out(1000, 0.2, 1).value().test, hold_out(1000, 0.2, 2).value().test);
}

TEST(HoldOut, TakesRowsIndependentlyOfTheirOrder) {
  // 200 of 1000 at random: the first half holds 100 +- 5 standard deviations of a hypergeometric count (6.3).
  const auto test = hold_out(1000, 0.2, 3).value().test;
  const auto first_half = std::count_if(test.begin(), test.end(), [](linalg::Index i) { return i < 500; });
  EXPECT_NEAR(static_cast<double>(first_half), 100, 32);
}

TEST(HoldOut, RefusesAFractionThatLeavesASideEmpty) {
  EXPECT_NE(hold_out(3, 0.01, 1).error().message.find("test_fraction: leaves 0 of 3 rows"), std::string::npos);
  EXPECT_FALSE(hold_out(1, 0.5, 1));
  EXPECT_FALSE(hold_out(10, 0.0, 1));
  EXPECT_FALSE(hold_out(10, 1.0, 1));
  EXPECT_FALSE(hold_out(10, std::numeric_limits<double>::quiet_NaN(), 1));
}

TEST(HoldOut, KeepsLabelsIdsAndNamesWithTheirRows) {
  Dataset all;
  all.features = linalg::Matrix::from_dense(4, 1, std::vector<double>{10, 20, 30, 40});
  all.columns = ColumnNames({"a"});
  all.labels = {{1, 2, 3, 4}, {}};
  all.ids = {"i", "j", "k", "l"};
  const TrainTest parts = hold_out(all, 0.5, 1).value();
  for (const Dataset* part : {&parts.train, &parts.test})
    for (std::size_t i = 0; i < part->rows(); ++i) {
      EXPECT_EQ(part->features.at(static_cast<linalg::Index>(i), 0), 10 * part->labels.values[i]);
      EXPECT_EQ(part->ids[i], std::string(1, static_cast<char>('h' + part->labels.values[i])));
    }
}
