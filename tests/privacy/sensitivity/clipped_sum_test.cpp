#include "parley/privacy/sensitivity/clipped_sum.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

namespace {

// The exact value behind a Sensitive, through the one door that claims nothing.
template <class Norm>
std::vector<double> seen(const Sensitive<GridVector, Norm>& value) {
  return Gate::in_the_clear(value, Unprotected{}).value();
}

const double kInfinity = std::numeric_limits<double>::infinity();

// Records that try to break a bound: huge, tiny, on the edge, not numbers.
double nasty(std::mt19937_64& random) {
  const double choices[] = {0,
                            1,
                            -1,
                            1e308,
                            -1e308,
                            5e-324,
                            kInfinity,
                            -kInfinity,
                            std::nan(""),
                            1.0 + 1e-16,
                            std::nextafter(1.0, 2.0),
                            0.5,
                            -0.5,
                            1.5 * 0x1p-20};
  if (random() % 2 == 0) return choices[random() % std::size(choices)];
  return std::normal_distribution<double>(0, 2)(random);
}

}  // namespace

TEST(ClippedSum, IsTheSumOfClippedTerms) {
  const auto sum = clipped_sum(Private(std::vector<double>{0.25, 3, -2, 0.5}), {.bound = 1.0, .grain = {-4}});
  ASSERT_TRUE(sum);
  EXPECT_EQ(seen(*sum), (std::vector<double>{0.75}));
  EXPECT_EQ(sum->sensitivity(), 2.0);
}

TEST(ClippedSum, DropsWhatIsNotANumber) {
  const auto sum = clipped_sum(Private(std::vector<double>{std::nan(""), kInfinity, -kInfinity, 0.5}),
                               {.bound = 1.0, .grain = {-4}});
  EXPECT_EQ(seen(*sum), (std::vector<double>{0.5}));
}

TEST(ClippedSum, NeverMovesByMoreThanItStates) {
  std::mt19937_64 random(7);
  for (const Neighbours neighbours : {Neighbours::kReplaceOne, Neighbours::kAddRemove})
    for (int trial = 0; trial < 2000; ++trial) {
      std::vector<double> records(1 + random() % 6);
      for (double& record : records) record = nasty(random);
      std::vector<double> neighbour = records;
      if (neighbours == Neighbours::kReplaceOne)
        neighbour[random() % neighbour.size()] = nasty(random);
      else
        neighbour.push_back(nasty(random));
      const ClipRule rule{.bound = 0.7 + static_cast<double>(random() % 5),
                          .grain = {-static_cast<int>(random() % 12)},
                          .neighbours = neighbours};
      const auto one = clipped_sum(Private(records), rule);
      const auto two = clipped_sum(Private(neighbour), rule);
      if (!one) continue;  // the grid is coarser than the bound
      EXPECT_LE(std::abs(seen(*one)[0] - seen(*two)[0]), one->sensitivity());
    }
}

TEST(ClippedVectorSum, NeverMovesByMoreThanItStates) {
  std::mt19937_64 random(8);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t m = 1 + random() % 5;
    const std::size_t n = 1 + random() % 4;
    std::vector<double> records(n * m);
    for (double& value : records) value = nasty(random);
    std::vector<double> neighbour = records;
    const std::size_t changed = random() % n;
    for (std::size_t k = 0; k < m; ++k) neighbour[changed * m + k] = nasty(random);
    const ClipRule rule{.bound = 1.0 + static_cast<double>(random() % 3), .grain = {-static_cast<int>(random() % 8)}};
    const auto one = clipped_vector_sum(Private(Contributions{records, m}), rule);
    const auto two = clipped_vector_sum(Private(Contributions{neighbour, m}), rule);
    ASSERT_TRUE(one && two);
    double squares = 0;
    for (std::size_t k = 0; k < m; ++k) squares += std::pow(seen(*one)[k] - seen(*two)[k], 2);
    EXPECT_LE(std::sqrt(squares), one->sensitivity());
  }
}

// A vector whose norm in floating point is the bound, and whose true norm is 2e-12 of it longer.
TEST(ClippedVectorSum, CountsWhatTheNormOfManyEntriesLoses) {
  constexpr std::size_t kEntries = 200'000;
  for (const double entry : {0.7984699606895447, 0.14737194776535034, 0.4931696057319641}) {
    std::vector<double> record(kEntries, entry);
    record[0] = 1;
    double squares = 1;
    for (std::size_t k = 1; k < kEntries; ++k) squares += entry * entry;
    const ClipRule rule{.bound = std::sqrt(squares), .grain = {-52}, .neighbours = Neighbours::kAddRemove};
    const auto sum = clipped_vector_sum(Private(Contributions{record, kEntries}), rule);
    ASSERT_TRUE(sum) << sum.error().message;
    const std::vector<double> told = seen(*sum);
    EXPECT_EQ(told, record) << "not longer than the bound, as far as floating point can tell";
    mpq_class exact = 0;
    for (const double value : told) exact += mpq_class(value) * value;
    EXPECT_GE(mpq_class(sum->sensitivity()) * sum->sensitivity(), exact) << entry;
    EXPECT_LE(sum->sensitivity(), rule.bound * (1 + 1e-9));
  }
}

// The same claim with the rounding left out must be found wrong: the search has teeth.
TEST(ClippedVectorSum, RoundingIsNeededInTheBound) {
  std::mt19937_64 random(9);
  double worst = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> one(4);
    std::normal_distribution<double> normal;
    for (double& value : one) value = 10 * normal(random);
    std::vector<double> two = one;
    for (double& value : two) value = -value;
    const ClipRule rule{.bound = 1.0, .grain = {-1}};
    const auto a = seen(*clipped_vector_sum(Private(Contributions{one, 4}), rule));
    const auto b = seen(*clipped_vector_sum(Private(Contributions{two, 4}), rule));
    double squares = 0;
    for (std::size_t k = 0; k < 4; ++k) squares += std::pow(a[k] - b[k], 2);
    worst = std::max(worst, std::sqrt(squares));
  }
  EXPECT_GT(worst, 2.0);
}

TEST(ClippedScores, NoScoreMovesByMoreThanItStates) {
  std::mt19937_64 random(10);
  for (int trial = 0; trial < 500; ++trial) {
    const std::size_t m = 3;
    std::vector<double> records(4 * m);
    for (double& value : records) value = nasty(random);
    std::vector<double> neighbour = records;
    for (std::size_t k = 0; k < m; ++k) neighbour[k] = nasty(random);
    const ClipRule rule{.bound = 1.0, .grain = {-6}};
    const auto one = clipped_scores(Private(Contributions{records, m}), rule);
    const auto two = clipped_scores(Private(Contributions{neighbour, m}), rule);
    for (std::size_t k = 0; k < m; ++k) EXPECT_LE(std::abs(seen(*one)[k] - seen(*two)[k]), one->sensitivity());
  }
}

TEST(ClippedSum, DoesNotDependOnTheOrderOfRecords) {
  std::mt19937_64 random(11);
  std::vector<double> records(1000);
  for (double& record : records) record = std::normal_distribution<double>(0, 1)(random);
  const ClipRule rule{.bound = 1.0, .grain = {-40}};
  const auto before = seen(*clipped_sum(Private(records), rule));
  std::shuffle(records.begin(), records.end(), random);
  EXPECT_EQ(seen(*clipped_sum(Private(records), rule)), before);
}

TEST(ClippedSum, RefusesBoundsAndGridsThatCannotHold) {
  const Private rows(std::vector<double>(10, 0.1));
  for (const double bound : {0.0, -1.0, kInfinity, std::nan("")})
    EXPECT_FALSE(clipped_sum(rows, {.bound = bound, .grain = {-4}}));
  EXPECT_FALSE(clipped_sum(rows, {.bound = 1.0, .grain = {1}})) << "coarser than the bound";
  EXPECT_FALSE(clipped_sum(rows, {.bound = 1.0, .grain = {-62}})) << "the sum would overflow";
  EXPECT_FALSE(clipped_values(rows, {.bound = 1.0, .grain = {-4}, .neighbours = Neighbours::kAddRemove}));
  EXPECT_FALSE(clipped_vector_sum(Private(Contributions{{1, 2, 3}, 2}), {.bound = 1.0, .grain = {-4}}));
}

// Selection reads scores as doubles. 2^53 + 1 is not one: of two neighbours' sums one grain apart both, or neither,
// would be rounded, and they could come out two grains apart.
TEST(ClippedScores, AreRefusedWhereTheyWouldNotBeDoubles) {
  const Private<Contributions> terms(Contributions{{1, 2, 3, 4}, 2});  // two records
  EXPECT_TRUE(clipped_scores(terms, {.bound = 0x1p51, .grain = {0}}));
  const auto refused = clipped_scores(terms, {.bound = 0x1p52, .grain = {0}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("53 bits"), std::string::npos) << refused.error().message;
}

namespace {

GridFeatures grid_of(const std::vector<std::vector<double>>& rows, const std::vector<double>& bounds,
                     std::optional<std::size_t> stated = std::nullopt) {
  std::vector<double> column_major;
  for (std::size_t j = 0; j < bounds.size(); ++j)
    for (const auto& row : rows) column_major.push_back(row[j]);
  return GridFeatures::make(linalg::Matrix::from_dense(static_cast<linalg::Index>(rows.size()),
                                                       static_cast<linalg::Index>(bounds.size()), column_major),
                            bounds, stated)
      .value();
}

}  // namespace

TEST(ColumnSquares, AreSumsOfSquaresInSquaresOfTheBounds) {
  const GridFeatures features = grid_of({{2, 0.25}, {-1, 0}, {5, 0.5}}, {2, 0.5});
  const auto squares = clipped_column_squares(features, {.bound = 2, .grain = {-20}});
  ASSERT_TRUE(squares);
  EXPECT_EQ(seen(*squares), (std::vector<double>{1 + 0.25 + 1, 0.25 + 1}));  // 5 is clipped to its bound
  EXPECT_NEAR(squares->sensitivity(), 2 * std::sqrt(2.0), 1e-8);
  // (1, 1) is longer than 1 and is shortened; (0.25, 0) is not.
  const auto shortened = clipped_column_squares(grid_of({{2, 0.5}, {-1, 0}}, {2, 0.5}), {.bound = 1, .grain = {-20}});
  EXPECT_NEAR(seen(*shortened)[0], std::sqrt(0.5) + 0.25, 1e-5);
  EXPECT_NEAR(seen(*shortened)[1], std::sqrt(0.5), 1e-5);
}

TEST(ColumnSquares, NeverMoveByMoreThanTheyState) {
  std::mt19937_64 random(17);
  for (const Neighbours neighbours : {Neighbours::kReplaceOne, Neighbours::kAddRemove}) {
    double closest = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      const std::size_t columns = 1 + random() % 5;
      const std::vector<double> bounds(columns, 0.5 + static_cast<double>(random() % 3));
      // Rows of which some reach as far as the bound lets them, along few columns.
      const auto row = [&] {
        std::vector<double> values(columns);
        for (double& value : values) value = random() % 3 == 0 ? nasty(random) : random() % 2 == 0 ? bounds[0] : 0.0;
        return values;
      };
      std::vector<std::vector<double>> records(2 + random() % 5);
      for (auto& record : records) record = row();
      auto neighbour = records;
      if (neighbours == Neighbours::kReplaceOne)
        neighbour[random() % neighbour.size()] = row();
      else
        neighbour.pop_back();
      const auto stated = neighbours == Neighbours::kAddRemove ? std::optional<std::size_t>(4) : std::nullopt;
      const ClipRule rule{.bound = 0.3 + static_cast<double>(random() % 4), .grain = {-12}, .neighbours = neighbours};
      const auto one = clipped_column_squares(grid_of(records, bounds, stated), rule);
      const auto two = clipped_column_squares(grid_of(neighbour, bounds, stated), rule);
      ASSERT_TRUE(one && two);
      double squares = 0;
      for (std::size_t j = 0; j < columns; ++j) squares += std::pow(seen(*one)[j] - seen(*two)[j], 2);
      ASSERT_LE(std::sqrt(squares), one->sensitivity());
      ASSERT_EQ(one->sensitivity(), column_squares_sensitivity(rule));
      closest = std::max(closest, std::sqrt(squares) / one->sensitivity());
    }
    EXPECT_GT(closest, 0.99) << "the bound is reached";
  }
}

TEST(ColumnSquares, AreRefusedWhereNothingCanBeStated) {
  const GridFeatures features = grid_of({{1, 1}}, {1, 1});
  EXPECT_FALSE(clipped_column_squares(features, {.bound = 0, .grain = {-20}}));
  EXPECT_FALSE(clipped_column_squares(features, {.bound = std::nan(""), .grain = {-20}}));
  EXPECT_FALSE(clipped_column_squares(features, {.bound = 1, .grain = {-20}, .neighbours = Neighbours::kAddRemove}))
      << "the number of records was not stated";
}
