#include "parley/privacy/sensitivity/odd_series.h"

#include <gtest/gtest.h>

#include <cmath>

#include "parley/privacy/sensitivity/whole_columns.h"

using namespace parley;
using namespace parley::privacy;

namespace {

double sigmoid(double margin) {
  return 0.5 * std::tanh(margin / 2);
}

std::int64_t value_of(const OddSeries& series, std::uint32_t u, std::uint32_t delta) {
  std::int64_t r = 0;
  for (int k = 0; k < series.harmonics(); ++k) {
    const auto [of_cosine, of_sine] = series.brackets(k, u);
    const auto [cosine, sine] = series.cosine_and_sine(k, delta);
    r += of_cosine * cosine + of_sine * sine;
  }
  return r;
}

}  // namespace

// The bound holds for every margin under many deltas, is nearly reached, and roundings alone would break a bound without
// their part.
TEST(OddSeries, NoMarginAndMaskExceedTheBound) {
  for (const auto& shape :
       {OddSeries::Shape{}, OddSeries::Shape{.harmonics = 3, .coefficient_bits = 6, .cosine_bits = 5}}) {
    const OddSeries series = *OddSeries::make(shape, &sigmoid);
    std::int64_t largest = 0;
    double exact = 0;
    std::uint32_t delta = 1;
    for (std::uint32_t u = 0; u < 65536; ++u)
      for (int repeat = 0; repeat < 8; ++repeat) {
        delta = delta * 1664525 + 1013904223;
        largest = std::max(largest, std::abs(value_of(series, u, delta >> 16)));
        exact = std::max(exact, std::abs(series.value(40.0 * u / 65536)));
      }
    EXPECT_LE(largest, series.bound());
    EXPECT_GT(static_cast<double>(largest), 0.95 * static_cast<double>(series.bound()) - 200);
    EXPECT_GT(static_cast<double>(largest), std::ldexp(exact, series.fraction_bits()))
        << "the bound must count the roundings";
  }
}

TEST(OddSeries, ItStandsForTheFunctionOverAQuarterOfItsPeriod) {
  const OddSeries coarse = *OddSeries::make({}, &sigmoid);
  const OddSeries fine = *OddSeries::make(
      {.period = 100, .harmonics = 32, .margin_bits = 20, .coefficient_bits = 16, .cosine_bits = 15}, &sigmoid);
  for (double margin = -10; margin <= 10; margin += 0.37) {
    EXPECT_NEAR(coarse.value(margin), sigmoid(margin), 0.02);
    EXPECT_NEAR(fine.value(margin), sigmoid(margin), 1e-5);
    const auto u = static_cast<std::uint32_t>(std::lround(margin / 100 * (1 << 20)));
    for (const std::uint32_t delta : {0u, 77777u, 1000000u})
      EXPECT_NEAR(std::ldexp(static_cast<double>(value_of(fine, u + delta, delta)), -31), sigmoid(margin), 2e-4);
  }
}

TEST(OddSeries, ShapesThatCannotBeAreRefused) {
  EXPECT_FALSE(OddSeries::make({.period = 0}, &sigmoid));
  EXPECT_FALSE(OddSeries::make({.harmonics = 0}, &sigmoid));
  EXPECT_FALSE(OddSeries::make({.harmonics = 65}, &sigmoid));
  EXPECT_FALSE(OddSeries::make({.margin_bits = 7}, &sigmoid));
  EXPECT_FALSE(OddSeries::make({.margin_bits = 23}, &sigmoid));
  EXPECT_FALSE(OddSeries::make({.coefficient_bits = 23}, &sigmoid));
}

// Rows beyond every bound, infinite ones and ones that are no numbers never get longer than is stated.
TEST(WholeColumns, NoRowIsLongerThanItsBound) {
  const double odd[] = {0, 1, -1, 1e-9, 0.999999, 1e300, -1e300, INFINITY, -INFINITY, NAN, 3, 0.5};
  std::vector<double> values;
  for (std::size_t v = 0; v < 12 * 5; ++v) values.push_back(odd[(7 * v + v / 5) % 12]);
  const linalg::Matrix features = linalg::Matrix::from_dense(12, 5, values);
  const std::vector<double> bounds(5, 1.0);
  for (const int bits : {0, 3, 8, 16})
    for (const double bound : {1.0, 1.3, 2.2}) {
      const WholeColumns::Rule rule{.bits = bits, .row_bound = bound, .bounds = bounds, .constant = true};
      const auto made = WholeColumns::make(features, rule);
      ASSERT_TRUE(made) << made.error().message;
      const std::int64_t most = *WholeColumns::squares(rule);
      std::vector<std::int64_t> sums(12);
      for (std::size_t c = 0; c < made->columns(); ++c) {
        const auto column = made->column<std::uint64_t>(c);
        for (std::size_t i = 0; i < 12; ++i)
          sums[i] += static_cast<std::int64_t>(column[i]) * static_cast<std::int64_t>(column[i]);
      }
      for (const std::int64_t sum : sums) EXPECT_LE(sum, most);
      EXPECT_EQ(made->columns(), 6u) << "the constant is the last";
    }
}

// Six ones have length sqrt(6), whose square is less than 6 in doubles.
TEST(WholeColumns, ARowOfExactlyTheBoundStaysAsItIs) {
  for (int ones = 1; ones <= 40; ++ones) {
    const linalg::Matrix features =
        linalg::Matrix::from_dense(1, ones, std::vector<double>(static_cast<std::size_t>(ones), 1.0));
    const WholeColumns::Rule rule{.bits = 0, .row_bound = std::sqrt(static_cast<double>(ones)), .bounds = {}};
    EXPECT_EQ(*WholeColumns::squares(rule), ones);
    const auto made = *WholeColumns::make(features, rule);
    EXPECT_EQ(made.shortened(), 0u);
    for (std::size_t c = 0; c < made.columns(); ++c) EXPECT_EQ(made.column<std::uint32_t>(c)[0], 1u) << ones;
  }
}

TEST(WholeColumns, MarginsAreHeldToTheirPartOfThePeriod) {
  const linalg::Matrix features = linalg::Matrix::from_dense(3, 2, std::vector<double>{1, 0.5, 0, 1, 1, 1});
  const std::vector<double> bounds(2, 1.0);
  const auto made = *WholeColumns::make(features, {.bits = 8, .row_bound = 2, .bounds = bounds});
  const MarginRule rule{.period = 40, .bits = 16, .parties = 2};
  EXPECT_EQ(rule.largest(), 8192);  // 40/8 in steps of 40/2^16
  for (const double scale : {1.0, 1e6, 1e308}) {
    const auto words = made.margin_words(std::vector<double>{scale, -3 * scale}, rule);
    for (const std::uint32_t word : words) EXPECT_LE(std::abs(static_cast<std::int32_t>(word)), 8192);
  }
  const auto words = made.margin_words(std::vector<double>{1.0, 0.25}, rule);
  EXPECT_EQ(words[0], static_cast<std::uint32_t>(std::lround(1.25 / 40 * 65536)));
}
