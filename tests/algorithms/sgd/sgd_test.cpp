// labels: slow
#include "parley/algorithms/sgd/sgd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "parley/algorithms/sgd/sgd_gradient.h"
#include "parley/core/threads.h"
#include "parley/glm/batch.h"
#include "parley/linalg/vectors.h"
#include "tests/algorithms/noisy_data.h"
#include "tests/support/sanitized.h"

using namespace parley;
using namespace parley::algorithms;
using glm::Intercept;
using glm::Task;
using linalg::Matrix;
using parley::test::Data;
using parley::test::distance_from_optimality;
using parley::test::noisy_data;
using parley::test::objective_of;

namespace {

const Observer kSilent;

class SgdOnEveryLoss : public testing::TestWithParam<Task> {};

// n records with a coordinate each: a weight moves when, and only when, its record joined.
Data one_record_per_coordinate(int n) {
  std::vector<std::size_t> offsets(static_cast<std::size_t>(n) + 1);
  std::vector<linalg::Index> columns(static_cast<std::size_t>(n));
  std::iota(offsets.begin(), offsets.end(), std::size_t{0});
  std::iota(columns.begin(), columns.end(), 0);
  const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
  return {Matrix::from_rows(n, offsets, columns, ones), ones};
}

// How often each record joined within `steps` steps of rate q, read off the weights: with h = q n / 2 a
// weight that joined k times is 1 - 2^-k.
std::vector<int> joins(const Data& data, double rate, int steps, std::uint64_t seed) {
  const auto n = static_cast<double>(data.labels.size());
  const Problem problem{data.features, data.labels, objective_of(Task::kLinear, 0, 0)};
  const auto fit =
      sgd(problem, {.steps = steps, .batch_rate = rate, .step = rate * n / 2, .result = SgdResult::kLast, .seed = seed},
          kSilent);
  EXPECT_TRUE(fit) << fit.error().message;
  std::vector<int> counts;
  for (const double w : fit->weights) counts.push_back(static_cast<int>(std::lround(-std::log2(1 - w))));
  return counts;
}

// What tells Poisson batches from batches of fixed size and from shuffled passes: the variance of the batch
// size over that of a binomial, and the share of records that joined both of two batches over q^2.
struct SamplingEvidence {
  double variance_ratio = 0;
  double repeats_ratio = 0;
};

template <class TwoBatches>
SamplingEvidence evidence(int n, double rate, int runs, const TwoBatches& two_batches) {
  double sum = 0;
  double squares = 0;
  double repeats = 0;
  for (int run = 0; run < runs; ++run) {
    const std::vector<int> counts = two_batches(run);
    const double size = std::accumulate(counts.begin(), counts.end(), 0.0);
    sum += size;
    squares += size * size;
    repeats += static_cast<double>(std::count(counts.begin(), counts.end(), 2));
  }
  const double variance = (squares - sum * sum / runs) / (runs - 1);
  return {variance / (2 * n * rate * (1 - rate)), repeats / (runs * n * rate * rate)};
}

// With 300 runs of 400 records at rate 0.1 the first ratio has deviation sqrt(2/299) = 0.082 and the second
// sqrt(1/1200) = 0.029: six deviations on either side, a false alarm once in 2.5e8.
bool looks_like_poisson(const SamplingEvidence& seen) {
  return std::abs(seen.variance_ratio - 1) < 0.49 && std::abs(seen.repeats_ratio - 1) < 0.175;
}

}  // namespace

TEST_P(SgdOnEveryLoss, ReachesTheOptimumOfEveryPenaltyWithWholeBatches) {
  PARLEY_SKIP_WHEN_SANITIZED();
  const Data data = noisy_data(GetParam(), 120, 6, 0.8, 1);
  for (const Intercept intercept : {Intercept::kNone, Intercept::kFree, Intercept::kPenalised})
    for (const auto& [l1, l2] : {std::pair{0.0, 0.1}, {0.02, 0.0}, {0.02, 0.1}}) {
      const Problem problem{data.features, data.labels, objective_of(GetParam(), l1, l2, intercept)};
      const auto fit =
          sgd(problem, {.steps = 3000, .batch_rate = 1, .momentum = 0.8, .result = SgdResult::kLast}, kSilent);
      ASSERT_TRUE(fit) << fit.error().message;
      EXPECT_LT(distance_from_optimality(problem, *fit), 1e-6);
      EXPECT_EQ(fit->iterations, 3000);
      EXPECT_EQ(fit->stop, Stop::kIterations);
    }
}

TEST_P(SgdOnEveryLoss, ComesCloseToTheOptimumWithItsDefaults) {
  PARLEY_SKIP_WHEN_SANITIZED();
  const Data data = noisy_data(GetParam(), 3000, 8, 0.6, 2);
  const Problem problem{data.features, data.labels, objective_of(GetParam(), 0.001, 0.01)};
  const auto best =
      sgd(problem, {.steps = 2000, .batch_rate = 1, .momentum = 0.8, .result = SgdResult::kLast}, kSilent);
  const auto fit = sgd(problem, {}, kSilent);
  ASSERT_TRUE(best && fit);
  ASSERT_LT(distance_from_optimality(problem, *best), 1e-5);
  EXPECT_LE(fit->objective, 1.01 * best->objective);
}

TEST_P(SgdOnEveryLoss, ClipsTheGradientOfEachRecord) {
  const Data data = noisy_data(GetParam(), 40, 5, 0.9, 3);
  const Problem problem{data.features, data.labels, objective_of(GetParam(), 0, 0, Intercept::kPenalised)};
  const auto classes = static_cast<std::size_t>(problem.objective.classes);
  const double clip = 0.3;
  const auto fit =
      sgd(problem, {.steps = 1, .batch_rate = 1, .step = 1, .clip = clip, .result = SgdResult::kLast}, kSilent);
  ASSERT_TRUE(fit) << fit.error().message;
  std::vector<double> q(40 * classes, 0.0);
  glm::loss_derivatives(GetParam(), q, data.labels, q);  // at margins 0
  std::vector<double> expected(6 * classes, 0.0);
  bool clipped = false;
  for (int i = 0; i < 40; ++i) {
    double derivative = 0;
    for (std::size_t k = 0; k < classes; ++k) derivative += std::pow(q[k * 40 + static_cast<std::size_t>(i)], 2);
    const double norm = std::sqrt(derivative * (data.features.row_squared_norm(i) + 1));
    clipped = clipped || norm > clip;
    for (std::size_t k = 0; k < classes; ++k)
      for (int j = 0; j < 6; ++j)
        expected[k * 6 + static_cast<std::size_t>(j)] -= std::min(1.0, clip / norm) *
                                                         q[k * 40 + static_cast<std::size_t>(i)] *
                                                         (j < 5 ? data.features.at(i, j) : 1.0) / 40;
  }
  EXPECT_TRUE(clipped);
  for (std::size_t k = 0; k < classes; ++k) {
    for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(fit->weights[k * 5 + j], expected[k * 6 + j], 1e-14);
    EXPECT_NEAR(fit->intercepts[k], expected[k * 6 + 5], 1e-14);
  }
}

TEST_P(SgdOnEveryLoss, GivesTheSameBytesWithAnyNumberOfThreads) {
  const Data data = noisy_data(GetParam(), 5000, 7, 0.5, 4);
  const Problem problem{data.features, data.labels, objective_of(GetParam(), 0.001, 0.01, Intercept::kPenalised)};
  for (const double rate : {0.01, 1.0}) {
    const int before = thread_count();
    std::vector<Fit> fits;
    for (const int threads : {1, 2}) {
      set_thread_count(threads);
      fits.push_back(*sgd(problem, {.steps = 20, .batch_rate = rate, .seed = 5}, kSilent));
    }
    set_thread_count(before);
    EXPECT_EQ(fits[0].weights, fits[1].weights);
    EXPECT_EQ(fits[0].intercepts, fits[1].intercepts);
  }
}

TEST_P(SgdOnEveryLoss, SumsABatchAlikeByRowsAndByPasses) {
  // The same records once among few others, where a pass is cheap, and once among many, where rows are.
  const Data few = noisy_data(GetParam(), 60, 9, 0.4, 6);
  std::vector<linalg::Index> rows(3000);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<linalg::Index>(i % 60);
  const Matrix many = few.features.select_rows(rows);
  std::vector<double> labels;
  for (const linalg::Index i : rows) labels.push_back(few.labels[static_cast<std::size_t>(i)]);
  const glm::Objective objective = objective_of(GetParam(), 0, 0, Intercept::kPenalised);
  const Problem small{few.features, few.labels, objective};
  const Problem large{many, labels, objective};
  BatchDerivatives by_pass(small), by_rows(large);
  std::vector<std::size_t> batch(60);
  std::iota(batch.begin(), batch.end(), std::size_t{0});
  ASSERT_TRUE(by_pass.by_passes(60));
  ASSERT_FALSE(by_rows.by_passes(60));
  std::vector<double> weights;
  for (std::size_t c = 0; c < by_pass.coordinates(); ++c) weights.push_back(std::sin(static_cast<double>(c)));
  PlainBatchSum pass_sum(small, by_pass, 0.4), row_sum(large, by_rows, 0.4);
  const auto a = pass_sum.sum(batch, by_pass.at(weights, batch));
  const auto b = row_sum.sum(batch, by_rows.at(weights, batch));
  for (std::size_t c = 0; c < a.size(); ++c) EXPECT_NEAR(a[c], b[c], 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Tasks, SgdOnEveryLoss,
                         testing::Values(Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax),
                         [](const auto& task) {
                           std::string text(glm::name(task.param));
                           std::erase(text, '-');
                           return text;
                         });

TEST(Sgd, StaysInItsConstraintSet) {
  const Data data = noisy_data(Task::kLogistic, 500, 20, 0.5, 7);
  for (const Intercept intercept : {Intercept::kNone, Intercept::kFree, Intercept::kPenalised})
    for (const SgdResult result : {SgdResult::kLast, SgdResult::kTailAverage}) {
      glm::Objective ball = objective_of(Task::kLogistic, 0, 0, intercept);
      ball.l1_radius = 0.7;
      glm::Objective sparse = objective_of(Task::kLogistic, 0, 0, intercept);
      sparse.sparsity = 3;
      for (const glm::Objective& objective : {ball, sparse}) {
        const auto fit =
            sgd({data.features, data.labels, objective}, {.steps = 50, .batch_rate = 0.1, .result = result}, kSilent);
        ASSERT_TRUE(fit) << fit.error().message;
        EXPECT_TRUE(feasible(objective, fit->weights, fit->intercepts, 1e-12));
        EXPECT_GT(linalg::l1_norm(fit->weights), 0.1);
      }
    }
}

TEST(Sgd, ReallySamplesByPoisson) {
  const int n = 400;
  const double rate = 0.1;
  const Data data = one_record_per_coordinate(n);
  EXPECT_TRUE(looks_like_poisson(
      evidence(n, rate, 300, [&](int run) { return joins(data, rate, 2, static_cast<std::uint64_t>(run)); })));
}

TEST(Sgd, BatchesOfFixedSizeAndShuffledPassesWouldBeCaught) {
  const int n = 400;
  const double rate = 0.1;
  std::mt19937_64 random(8);
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  const auto fixed_size = [&](int) {
    std::vector<int> counts(n, 0);
    for (int batch = 0; batch < 2; ++batch) {
      std::shuffle(order.begin(), order.end(), random);
      for (int b = 0; b < n / 10; ++b) ++counts[static_cast<std::size_t>(order[static_cast<std::size_t>(b)])];
    }
    return counts;
  };
  const auto shuffled_pass = [&](int) {
    std::vector<int> counts(n, 0);
    std::shuffle(order.begin(), order.end(), random);
    for (int b = 0; b < 2 * n / 10; ++b) ++counts[static_cast<std::size_t>(order[static_cast<std::size_t>(b)])];
    return counts;
  };
  EXPECT_FALSE(looks_like_poisson(evidence(n, rate, 300, fixed_size)));
  EXPECT_FALSE(looks_like_poisson(evidence(n, rate, 300, shuffled_pass)));
}

TEST(Sgd, RepeatsItselfWithTheSameSeedAndNotWithAnother) {
  const Data data = noisy_data(Task::kLogistic, 800, 6, 0.7, 9);
  const Problem problem{data.features, data.labels, objective_of(Task::kLogistic, 0, 0.01)};
  const SgdSettings settings{.steps = 30, .batch_rate = 0.05, .seed = 1};
  SgdSettings other = settings;
  other.seed = 2;
  EXPECT_EQ(sgd(problem, settings, kSilent)->weights, sgd(problem, settings, kSilent)->weights);
  EXPECT_NE(sgd(problem, settings, kSilent)->weights, sgd(problem, other, kSilent)->weights);
}

TEST(Sgd, StopsWhenItsObserverAsksAndKeepsTheModel) {
  const Data data = noisy_data(Task::kLogistic, 300, 6, 0.7, 10);
  const Problem problem{data.features, data.labels, objective_of(Task::kLogistic, 0, 0.01)};
  const auto fit = sgd(problem, {.steps = 1000, .batch_rate = 0.2},
                       [](const Progress& progress) { return progress.iteration < 100; });
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->stop, Stop::kInterrupted);
  EXPECT_EQ(fit->iterations, 100);
  EXPECT_EQ(fit->history.size(), 5u);
  EXPECT_GT(linalg::l1_norm(fit->weights), 0.01);
}

TEST(Sgd, RefusesSettingsThatMeanNothing) {
  const Data data = noisy_data(Task::kLogistic, 30, 3, 0.7, 11);
  const Problem problem{data.features, data.labels, objective_of(Task::kLogistic, 0, 0)};
  const auto refusal = [&](const SgdSettings& settings) {
    const auto fit = sgd(problem, settings, kSilent);
    return fit ? "accepted" : fit.error().message;
  };
  EXPECT_EQ(refusal({.steps = 0}), "algorithm.steps: must be at least 1 (got '0')");
  EXPECT_EQ(refusal({.batch_rate = 0.0}), "algorithm.batch_rate: must be above 0 and at most 1 (got '0')");
  EXPECT_EQ(refusal({.batch_rate = 1.5}), "algorithm.batch_rate: must be above 0 and at most 1 (got '1.5')");
  EXPECT_EQ(refusal({.step = -1.0}), "algorithm.step: must be above 0 (got '-1')");
  EXPECT_EQ(refusal({.momentum = 1.0}), "algorithm.momentum: must be at least 0 and below 1 (got '1')");
  EXPECT_EQ(refusal({.clip = std::nan("")}), "algorithm.clip: must be above 0 (got 'nan')");
}

TEST(Sgd, RefusesFeaturesThatAreNotFinite) {
  const std::vector<double> values{1, 2, std::numeric_limits<double>::infinity(), 0};
  const std::vector<double> labels{1, -1};
  const Matrix features = Matrix::from_dense(2, 2, values);
  EXPECT_FALSE(sgd({features, labels, objective_of(Task::kLogistic, 0, 0)}, {}, kSilent));
}
