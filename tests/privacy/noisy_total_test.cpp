// labels: slow
#include "parley/privacy/noisy_total.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "tests/privacy/mechanisms/reference.h"
#include "tests/privacy/mechanisms/statistics.h"
#include "tests/privacy/with_ledger.h"
#include "tests/support/sanitized.h"

using namespace parley;
using namespace parley::privacy;
using linalg::Index;
using linalg::Matrix;

namespace {

constexpr Index kRows = 40, kCols = 8;
constexpr double kRate = 0.25;
const Deviation kNoise{4.0};

// Record i has a one in column i mod 8.
GridFeatures one_column_each() {
  std::vector<double> table(kRows * kCols, 0.0);
  for (Index i = 0; i < kRows; ++i) table[static_cast<std::size_t>((i % kCols) * kRows + i)] = 1;
  return *GridFeatures::make(Matrix::from_dense(kRows, kCols, table), std::vector<double>(kCols, 1.0));
}

class NoisyTotalTest : public WithLedger {
 protected:
  Gate gate(const Purse& purse = kPatients) {
    Gate gate = std::move(*Gate::open(*ledger_, purse, "run " + std::to_string(++runs_), bits_));
    EXPECT_TRUE(ledger_->set_budget(purse, {*Epsilon::make(1e6), *Delta::make(0.5), Composition::kPlans}));
    return gate;
  }
  // A gate that paid for so many steps.
  Gate paid(std::int64_t steps) {
    Gate gate = this->gate();
    EXPECT_TRUE(
        gate.reserve({.step = {{NoisyTotal::event(sum(), kNoise, kRate), 1}}, .steps = steps}, *Delta::make(1e-6)));
    return gate;
  }
  [[nodiscard]] BatchSum sum() const { return *BatchSum::make(features_, {}); }
  Batch sample(Gate& gate, std::size_t records = kRows) {
    return std::move(*gate.sample(*PoissonSampling::make(kRate), records));
  }
  static std::vector<double> derivatives(const Batch& batch) {
    return std::vector<double>(batch.records().size(), 0.5);
  }

  SeededGenerator bits_{1};
  GridFeatures features_ = one_column_each();
  int runs_ = 0;
};

}  // namespace

TEST_F(NoisyTotalTest, IsPaidFromAPurseOfItsOwnUnitAndRelation) {
  Gate replace = gate();
  Gate add = gate({"patients", Unit::kRecord, Neighbours::kAddRemove});
  BatchSum clients = *BatchSum::make(features_, {.unit = Unit::kClient});
  EXPECT_TRUE(NoisyTotal::make(replace, sum(), kNoise, 1));
  EXPECT_FALSE(NoisyTotal::make(add, sum(), kNoise, 1)) << "grids made from a number of records that add-remove hides";
  EXPECT_FALSE(NoisyTotal::make(replace, clients, kNoise, 1));
}

TEST_F(NoisyTotalTest, AddsTheBatchWhoseWeightsWereAskedForLastAndNoOther) {
  Gate gate = paid(2);
  NoisyTotal total = *NoisyTotal::make(gate, sum(), kNoise, 1);
  Batch early = sample(gate);
  EXPECT_FALSE(total.add(std::move(early), derivatives(early))) << "no weights were asked for";
  Batch first = sample(gate), second = sample(gate);
  ASSERT_TRUE(total.weights_at(first));
  ASSERT_TRUE(total.weights_at(second));
  const std::vector<double> of_first = derivatives(first);
  EXPECT_FALSE(total.add(std::move(first), of_first));
  {
    const Batch gone = sample(gate);
    ASSERT_TRUE(total.weights_at(gone));
  }
  Batch there = sample(gate);  // perhaps where the other one was
  const std::vector<double> of_there = derivatives(there);
  EXPECT_FALSE(total.add(std::move(there), of_there));
  // What was refused counted for nothing: two steps were paid for and are taken, no more.
  for (int step = 0; step < 3; ++step) {
    Batch batch = sample(gate);
    ASSERT_TRUE(total.weights_at(batch));
    const std::vector<double> q = derivatives(batch);
    EXPECT_EQ(static_cast<bool>(total.add(std::move(batch), q)), step < 2);
  }
}

TEST_F(NoisyTotalTest, NeedsTheDerivativesOfEveryRecordAndRecordsOfItsTable) {
  Gate gate = paid(1);
  NoisyTotal total = *NoisyTotal::make(gate, sum(), kNoise, 1);
  for (const int difference : {-1, 1}) {
    Batch batch = sample(gate);
    ASSERT_GT(batch.records().size(), 1U);
    ASSERT_TRUE(total.weights_at(batch));
    const std::vector<double> q(batch.records().size() + static_cast<std::size_t>(difference), 0.5);
    EXPECT_FALSE(total.add(std::move(batch), q));
  }
  EXPECT_FALSE(total.weights_at(sample(gate, 100 * kRows)));
  Batch batch = sample(gate);
  ASSERT_TRUE(total.weights_at(batch));
  const std::vector<double> q = derivatives(batch);
  EXPECT_TRUE(total.add(std::move(batch), q)) << "the step that was paid for is still there";
}

// Whether an entry was read in between or not, it holds the noise of all steps: cells of one deviation of the
// sum of three noises, each test with the false-alarm rate of statistics.h. Noise of one step only is
// refused.
TEST_F(NoisyTotalTest, EveryEntryHoldsTheNoiseOfEveryStep) {
  PARLEY_SKIP_WHEN_SANITIZED();
  constexpr int kSteps = 3, kTotals = 1500;
  std::vector<double> noises;
  Gate gate = paid(kSteps * kTotals);
  for (int t = 0; t < kTotals; ++t) {
    NoisyTotal total = *NoisyTotal::make(gate, sum(), kNoise, 1);
    for (int step = 0; step < kSteps; ++step) {
      Batch batch = sample(gate);
      ASSERT_TRUE(total.weights_at(batch));
      const std::vector<double> q(batch.records().size(), 0.0);
      ASSERT_TRUE(total.add(std::move(batch), q));
    }
    const auto released = total.release();
    ASSERT_TRUE(released);
    noises.insert(noises.end(), released->value().begin(), released->value().end());
  }
  const auto follows = [&](double steps) {
    std::vector<double> counts(8), law(8);
    const double sigma = kNoise.sigma * std::sqrt(steps);
    for (const double noise : noises) {
      const double cell = std::floor(noise / sigma) + 4;
      if (cell >= 0 && cell < 8) counts[static_cast<std::size_t>(cell)] += 1;
    }
    for (std::size_t k = 0; k < 8; ++k)
      law[k] = reference::normal_between(static_cast<double>(k) - 4, static_cast<double>(k) - 3);
    return statistics::p_value(counts, law, static_cast<double>(noises.size())) > statistics::kAlarm;
  };
  EXPECT_TRUE(follows(kSteps));
  EXPECT_FALSE(follows(1));
  EXPECT_FALSE(follows(kSteps * 0.8 * 0.8));
}
