// Add-remove hides how many records there are. At n = 2^k a grid or a mean made from n itself changes for
// everybody when one record goes; what is made from a stated number does not. The same measurement shows
// both.
// labels: slow
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/batch_sum.h"
#include "parley/privacy/sensitivity/clipped_sum.h"
#include "parley/privacy/sensitivity/exact_sums.h"
#include "parley/privacy/sensitivity/residual_sums.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::privacy;
using linalg::Index;
using linalg::Matrix;

namespace {

constexpr Index kCols = 2;

// Records with a number each: a derivative, or a label.
struct Records {
  std::vector<double> features;  // column by column
  std::vector<double> numbers;

  [[nodiscard]] std::size_t count() const { return numbers.size(); }
  [[nodiscard]] Records without(std::size_t record) const {
    Records rest = *this;
    rest.numbers.erase(rest.numbers.begin() + static_cast<std::ptrdiff_t>(record));
    for (std::size_t j = kCols; j-- > 0;)
      rest.features.erase(rest.features.begin() + static_cast<std::ptrdiff_t>(j * count() + record));
    return rest;
  }
  // How many records the grids are made for; absent: as many as there are.
  [[nodiscard]] GridFeatures grid(std::optional<std::size_t> stated) const {
    return *GridFeatures::make(Matrix::from_dense(static_cast<Index>(count()), kCols, features),
                               std::vector<double>(kCols, 1.0), stated);
  }
};

// Everybody alike, at a value that grids of neighbouring sizes round differently; the one that goes is as
// large as can be.
Records alike(std::size_t n, double feature, double number, std::size_t gone) {
  Records records{std::vector<double>(n * kCols, feature), std::vector<double>(n, number)};
  for (std::size_t j = 0; j < kCols; ++j) records.features[j * n + gone] = 1;
  records.numbers[gone] = -1;
  return records;
}

Records random_records(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1.2, 1.2);  // some are clipped
  Records records{std::vector<double>(n * kCols), std::vector<double>(n)};
  for (double& x : records.features) x = uniform(random);
  for (double& q : records.numbers) q = uniform(random);
  return records;
}

// For which everything is tried.
bool is_small(std::size_t n) {
  return n <= 1024 || std::getenv("PARLEY_LONG") != nullptr;
}

// body(records, the one that goes). Of large tables the worst, and one at random.
template <class Body>
void for_each_case(std::size_t n, const Body& body) {
  const bool all = is_small(n);
  body(alike(n, 1.0, 1.0 / 3, n / 2), n / 2);
  if (all)
    for (const double number : {0.1, std::ldexp(0.5 + 4096, -16), std::ldexp(0.5 + 4096, -18)})
      body(alike(n, 1.0, number, n / 2), n / 2);
  if (all)
    for (const double feature : {0.3, std::ldexp(0.5 + 4096, -14), std::ldexp(0.5 + 4096, -15)})
      body(alike(n, feature, 0.75, n - 1), n - 1);
  body(random_records(n, 1), 0);
}

// Under the relation that makes n public when nothing is stated: the sums then refuse the other.
Neighbours relation(std::optional<std::size_t> stated) {
  return stated ? Neighbours::kAddRemove : Neighbours::kReplaceOne;
}

struct Told {
  std::vector<double> values;
  double bound = 0;  // on how far one record that goes may move them
};

// In units of what the bound allows; not 1 at most: the bound is broken.
double distance(const Told& a, const Told& b, bool euclidean) {
  double squares = 0, largest = a.bound == b.bound ? 0 : INFINITY;  // the bound itself is public
  for (std::size_t c = 0; c < a.values.size(); ++c) {
    const double apart = std::abs(a.values[c] - b.values[c]);
    squares += apart * apart;
    largest = std::fmax(largest, apart);
  }
  return (euclidean ? std::fmax(std::sqrt(squares), std::isinf(largest) ? largest : 0) : largest) /
         std::min(a.bound, b.bound);
}

// A ledger of its own for every measurement.
struct LedgerHere {
  TemporaryFolder folder;
  Ledger ledger = std::move(*Ledger::open(folder.path()));
};

Told batch_sum(const Records& records, std::optional<std::size_t> stated) {
  const GridFeatures features = records.grid(stated);
  BatchSum sum = *BatchSum::make(features, {.norm_bound = 1.5, .constant = true, .neighbours = relation(stated)});
  // The same seed gives the same noise, so that it falls out of differences, and everybody joins.
  SeededGenerator bits(1);
  const Deviation noise{4.0};
  const SubsampledGaussian event{noise.sigma / sum.contribution(), 1.0};
  LedgerHere here;
  Gate gate = std::move(*Gate::open(here.ledger, {"records", Unit::kRecord, relation(stated)}, "run", bits));
  gate.cover_cost();
  EXPECT_TRUE(gate.reserve({.step = {{event, 1}}, .steps = 1}, *Delta::make(1e-6)));
  Batch batch = *gate.sample(*PoissonSampling::make(1), records.count());
  const auto told = gate.release(sum.sum(std::move(batch), records.numbers), noise);
  EXPECT_TRUE(told) << told.error().message;
  return {told ? told->value() : std::vector<double>{}, sum.contribution()};
}

Told scores(const Records& records, std::optional<std::size_t> stated, std::span<const double> public_gradient) {
  const GridFeatures features = records.grid(stated);
  ExactSums sums = *ExactSums::make(features, {.neighbours = relation(stated)});
  sums.assign(records.numbers);
  const VertexRule rule{public_gradient};
  const double moves = sums.score_sensitivity(rule) / (stated ? 1 : 2);
  Told told{Gate::in_the_clear(sums.scores(rule), Unprotected{}).value(), moves};
  // What a selection sees is a score over the sensitivity.
  for (double& value : told.values) value /= moves;
  told.bound = 1;
  return told;
}

Told residuals(const Records& records, std::optional<std::size_t> stated, double l2) {
  const GridFeatures features = records.grid(stated);
  ResidualSums sums = *ResidualSums::make(features, records.numbers,
                                          {.radius = 2, .l2 = l2, .steps = 3, .neighbours = relation(stated)});
  sums.add(0, 1.25);
  sums.add(1, 0.3);
  const double moves = sums.score_sensitivity() / (stated ? 1 : 2);
  Told told{Gate::in_the_clear(sums.ceilings(1, 1), Unprotected{}).value(), 1};
  for (double& value : told.values) value /= moves;
  return told;
}

// The largest distance over all cases, with the bound as its unit.
template <class Sum>
double worst(std::size_t n, std::optional<std::size_t> stated, bool euclidean, const Sum& sum) {
  double largest = 0;
  for_each_case(n, [&](const Records& records, std::size_t gone) {
    largest = std::fmax(largest, distance(sum(records, stated), sum(records.without(gone), stated), euclidean));
  });
  return largest;
}

constexpr std::size_t kSizes[] = {std::size_t{1} << 10, std::size_t{1} << 18, std::size_t{1} << 20};

}  // namespace

TEST(HiddenCount, BatchSumsMoveByOneRecordWhateverTheCount) {
  PARLEY_SKIP_WHEN_SANITIZED();
  for (const std::size_t n : kSizes) {
    EXPECT_LE(worst(n, n, true, batch_sum), 1) << n;
    if (is_small(n)) {
      EXPECT_LE(worst(n, n / 3, true, batch_sum), 1) << n;
    }
  }
  EXPECT_GT(worst(std::size_t{1} << 20, std::nullopt, true, batch_sum), 2)
      << "grids of n itself: this test has no power";
}

TEST(HiddenCount, ScoresMoveByOneRecordWhateverTheCount) {
  PARLEY_SKIP_WHEN_SANITIZED();
  const std::vector<double> penalty = {0.7, -40.0};
  const auto with_penalty = [&](const Records& records, std::optional<std::size_t> stated) {
    return scores(records, stated, penalty);
  };
  const auto without = [](const Records& records, std::optional<std::size_t> stated) {
    return scores(records, stated, {});
  };
  for (const std::size_t n : kSizes) {
    for (const std::size_t stated : {n, n / 3, 2 * n}) {
      if (stated != n && !is_small(n)) continue;
      EXPECT_LE(worst(n, stated, false, without), 1) << n;
      EXPECT_LE(worst(n, stated, false, with_penalty), 1) << n;
    }
    if (is_small(n)) {
      EXPECT_GT(worst(n, std::nullopt, false, with_penalty), 10)
          << "a public gradient in units of n: this test has no power";
    }
  }
  EXPECT_GT(worst(std::size_t{1} << 20, std::nullopt, false, without), 2)
      << "grids of n itself: this test has no power";
}

TEST(HiddenCount, ResidualSumsMoveByOneRecordWhateverTheCount) {
  PARLEY_SKIP_WHEN_SANITIZED();
  const auto plain = [](const Records& records, std::optional<std::size_t> stated) {
    return residuals(records, stated, 0);
  };
  const auto with_penalty = [](const Records& records, std::optional<std::size_t> stated) {
    return residuals(records, stated, 9);
  };
  for (const std::size_t n : kSizes) {
    EXPECT_LE(worst(n, n, false, plain), 1) << n;
    if (is_small(n)) {
      EXPECT_LE(worst(n, n / 3, false, plain), 1) << n;
    }
    EXPECT_LE(worst(n, n, false, with_penalty), 1) << n;
    if (is_small(n)) {
      EXPECT_GT(worst(n, std::nullopt, false, with_penalty), 1.5) << "a penalty in units of n: this test has no power";
    }
  }
}

TEST(HiddenCount, ClippedSumsMoveByOneRecordWhateverTheCount) {
  PARLEY_SKIP_WHEN_SANITIZED();
  // Their grain comes from the rule alone.
  const ClipRule rule{.bound = 1, .grain = {-20}, .neighbours = Neighbours::kAddRemove};
  const auto sum = [&](const Records& records, std::optional<std::size_t>) {
    const auto told = clipped_sum_l2(Private(records.numbers), rule);
    return Told{Gate::in_the_clear(*told, Unprotected{}).value(), told->sensitivity()};
  };
  const auto vector_sum = [&](const Records& records, std::optional<std::size_t>) {
    Contributions rows{{}, kCols};
    for (std::size_t i = 0; i < records.count(); ++i)
      for (std::size_t j = 0; j < kCols; ++j) rows.values.push_back(records.features[j * records.count() + i]);
    const auto told = clipped_vector_sum(Private(std::move(rows)), rule);
    return Told{Gate::in_the_clear(*told, Unprotected{}).value(), told->sensitivity()};
  };
  for (const std::size_t n : kSizes) {
    EXPECT_LE(worst(n, std::nullopt, true, sum), 1) << n;
    EXPECT_LE(worst(n, std::nullopt, true, vector_sum), 1) << n;
  }
}

TEST(HiddenCount, GridsDependOnTheStatedNumberAlone) {
  const Records records = random_records(1024, 2);
  for (const std::size_t stated : {256, 1024, 100000}) {
    const GridFeatures all = records.grid(stated), fewer = records.without(1023).grid(stated);
    EXPECT_EQ(all.records(), static_cast<double>(stated));
    EXPECT_EQ(all.records(), fewer.records());
    EXPECT_EQ(all.most_records(), fewer.most_records());
    EXPECT_EQ(all.derivative_bits(), fewer.derivative_bits());
    for (Index i = 0; i < 1023; ++i) ASSERT_EQ(all.matrix().at(i, 0), fewer.matrix().at(i, 0));
  }
}

TEST(HiddenCount, SumsRefuseAddRemoveWithoutAStatedNumber) {
  const Records records = random_records(64, 3);
  const GridFeatures features = records.grid(std::nullopt);
  const auto refusal = [](const auto& made) { return made ? std::string() : made.error().message; };
  EXPECT_THAT(refusal(ExactSums::make(features, {.neighbours = Neighbours::kAddRemove})),
              testing::HasSubstr("records"));
  EXPECT_THAT(refusal(BatchSum::make(features, {.neighbours = Neighbours::kAddRemove})), testing::HasSubstr("records"));
  EXPECT_THAT(refusal(ResidualSums::make(features, records.numbers, {.neighbours = Neighbours::kAddRemove})),
              testing::HasSubstr("records"));
}

TEST(HiddenCount, ANumberFarBelowTheTruthIsRefusedBecauseSumsWouldRound) {
  const Matrix matrix = Matrix::from_dense(64, kCols, random_records(64, 4).features);
  const std::vector<double> bounds(kCols, 1.0);
  EXPECT_TRUE(GridFeatures::make(matrix, bounds, 16));
  EXPECT_FALSE(GridFeatures::make(matrix, bounds, 15));
  EXPECT_FALSE(GridFeatures::make(matrix, bounds, 0));
  EXPECT_TRUE(GridFeatures::make(matrix, bounds, GridFeatures::kMostStated));
  EXPECT_FALSE(GridFeatures::make(matrix, bounds, GridFeatures::kMostStated + 1));
}

TEST(HiddenCount, SumsAreExactUpToTheMarginOfTheStatedNumber) {
  // Four times the stated number of the largest contributions, by rows and in one pass.
  const std::size_t n = std::size_t{1} << 18;
  const Records records{std::vector<double>(n * kCols, 1.0), std::vector<double>(n, 1.0)};
  const GridFeatures features = records.grid(n / 4);
  ExactSums sums = *ExactSums::make(features, {.neighbours = Neighbours::kAddRemove});
  sums.assign(records.numbers);
  const std::vector<double> at_once = Gate::in_the_clear(sums.scores(VertexRule{}), Unprotected{}).value();
  ExactSums rows = *ExactSums::make(features, {.neighbours = Neighbours::kAddRemove});
  for (std::size_t i = n; i-- > 0;) rows.assign_row(static_cast<Index>(i), 1.0);
  EXPECT_EQ(Gate::in_the_clear(rows.scores(VertexRule{}), Unprotected{}).value(), at_once);
  EXPECT_NEAR(at_once[1], 4, 1e-3);
}
