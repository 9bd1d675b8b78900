#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "parley/privacy/mechanisms/label_laplace.h"
#include "parley/privacy/mechanisms/randomised_response.h"
#include "tests/privacy/mechanisms/reference.h"
#include "tests/privacy/mechanisms/statistics.h"

using namespace parley;
using namespace parley::privacy;
using statistics::kAlarm;

TEST(RandomisedResponse, TellsTheTruthAsOftenAsItSays) {
  SeededGenerator bits(1);
  for (const double epsilon : {0.01, 0.5, 1.0, 5.0})
    for (const std::size_t classes : {2, 3, 10}) {
      const auto response = RandomisedResponse::make(epsilon, classes).value();
      constexpr int kDraws = 20000;
      std::vector<double> counts(classes), law(classes, 1 / (std::exp(epsilon) + static_cast<double>(classes) - 1));
      law[1] = response.truth_probability();
      EXPECT_NEAR(law[1] / law[0], std::exp(epsilon), 1e-9 * std::exp(epsilon));
      for (int i = 0; i < kDraws; ++i) ++counts.at(response.respond(1, bits).value());
      EXPECT_GT(statistics::p_value(counts, law, kDraws), kAlarm) << epsilon << " " << classes;
    }
}

TEST(RandomisedResponse, ChangesAListInPlaceOrNotAtAll) {
  SeededGenerator bits(2);
  const auto response = RandomisedResponse::make(0.1, 3).value();
  std::vector<std::size_t> labels(200, 2);
  ASSERT_TRUE(response.respond(labels, bits));
  EXPECT_NE(labels, std::vector<std::size_t>(200, 2));
  std::vector<std::size_t> bad(200, 2);
  bad.back() = 3;
  const auto before = bad;
  EXPECT_FALSE(response.respond(bad, bits));
  EXPECT_EQ(bad, before);
}

TEST(RandomisedResponse, RefusesBadSettingsAndLabels) {
  SeededGenerator bits(3);
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1000.0})
    EXPECT_FALSE(RandomisedResponse::make(bad, 2)) << bad;
  EXPECT_FALSE(RandomisedResponse::make(1.0, 1));
  EXPECT_FALSE(RandomisedResponse::make(1.0, 2).value().respond(2, bits));
  EXPECT_EQ(RandomisedResponse::make(1.5, 2).value().event(), Pure{1.5});
}

TEST(LabelLaplace, HasTheStandardDeviationOfTheTheory) {
  SeededGenerator bits(4);
  for (const double epsilon : {0.1, 1.0, 8.0}) {
    const auto mechanism = LabelLaplace::make(epsilon, 4).value();
    EXPECT_GE(mechanism.scale(), 2 / epsilon);
    EXPECT_NEAR(mechanism.scale() * epsilon / 2, 1, 1e-12);
    const std::vector<std::size_t> labels(25'000, 2);
    const auto rows = mechanism.release(labels, bits).value();
    // Cells of one scale each, around the one-hot mean: the law is Laplace to within a grain, 2^-20 of a
    // scale.
    std::vector<std::int64_t> cells;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double noise = from_grid(rows[i], mechanism.grain()) - (i % 4 == 2 ? 1 : 0);
      cells.push_back(static_cast<std::int64_t>(std::floor(noise * epsilon / 2)));
    }
    const auto law = [](std::int64_t cell) {
      const double x = static_cast<double>(cell >= 0 ? cell : -cell - 1);
      return (std::exp(-x) - std::exp(-x - 1)) / 2;
    };
    EXPECT_GT(statistics::p_value(statistics::histogram(cells), static_cast<double>(cells.size()), 8, law), kAlarm)
        << epsilon;
  }
}

TEST(LabelLaplace, SaysItsCostInGrainsAndRefusesBadInput) {
  SeededGenerator bits(5);
  const auto mechanism = LabelLaplace::make(1.0, 3, Grain{-10}).value();
  EXPECT_EQ(mechanism.event().sensitivity, 2048);
  EXPECT_GE(mechanism.event().scale, 2048);
  EXPECT_EQ(mechanism.event().dimensions, 3);
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(LabelLaplace::make(bad, 2)) << bad;
  EXPECT_FALSE(LabelLaplace::make(1.0, 1));
  EXPECT_FALSE(LabelLaplace::make(1.0, 2, Grain{1}));
  EXPECT_FALSE(mechanism.release(std::vector<std::size_t>{0, 3}, bits));
}

TEST(LabelLaplace, TheLargestEntryIsUsuallyTheLabelWhenEpsilonIsLarge) {
  SeededGenerator bits(6);
  const auto mechanism = LabelLaplace::make(20.0, 3).value();
  const std::vector<std::size_t> labels = {0, 1, 2, 1, 0, 2, 2, 1};
  const auto guessed = mechanism.most_likely(mechanism.release(labels, bits).value());
  EXPECT_EQ(guessed, labels);
}
