#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "parley/algorithms/sgd/sgd.h"
#include "parley/algorithms/sgd/sgd_gradient.h"
#include "parley/algorithms/sgd/sgd_plan.h"
#include "parley/algorithms/sgd/sgd_sites.h"
#include "parley/core/threads.h"
#include "parley/linalg/vectors.h"
#include "tests/algorithms/private_run.h"

using namespace parley;
using namespace parley::algorithms;
using glm::Intercept;
using glm::Task;
using linalg::Matrix;
using parley::test::Data;
using parley::test::noisy_data;
using parley::test::objective_of;
using parley::test::PrivateRun;
using parley::test::PrivateRunOptions;
using privacy::Neighbours;

namespace {

const Observer kSilent;

class PrivateSgdOnEveryLoss : public testing::TestWithParam<Task> {};

// An update that noise drawn when it is read can serve, and the same one that it cannot.
const SgdSettings kLinear{
    .steps = 16, .batch_rate = 0.5, .step = 1, .momentum = 0.0, .clip = 1, .result = SgdResult::kLast};
SgdSettings not_linear() {
  SgdSettings settings = kLinear;
  settings.momentum = 1e-15;
  return settings;
}

// Record i has column i alone, of `columns`.
Data one_hot(int records, int columns) {
  std::vector<std::size_t> offsets(static_cast<std::size_t>(records) + 1);
  std::vector<linalg::Index> at(static_cast<std::size_t>(records));
  std::iota(offsets.begin(), offsets.end(), std::size_t{0});
  std::iota(at.begin(), at.end(), 0);
  const std::vector<double> ones(static_cast<std::size_t>(records), 1.0);
  return {Matrix::from_rows(columns, offsets, at, ones), ones};
}

// The largest distance between two empirical distributions.
double kolmogorov_distance(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto below = static_cast<double>(std::upper_bound(b.begin(), b.end(), a[i]) - b.begin());
    largest = std::max(largest, std::abs(static_cast<double>(i + 1) / static_cast<double>(a.size()) -
                                         below / static_cast<double>(b.size())));
  }
  return largest;
}

// Exceeded once in 1e9 by samples of one law (Smirnov): sqrt(-ln(1e-9/2)/2 (1/a + 1/b)).
double kolmogorov_limit(std::size_t a, std::size_t b) {
  return 3.28 * std::sqrt(1.0 / static_cast<double>(a) + 1.0 / static_cast<double>(b));
}

// One whole-batch release of the clipped gradients at W = 0, with noise of about 1e-3.
std::vector<double> released_sum(const Data& data, double clip) {
  PrivateRun run(data, {.epsilon = 1e6, .delta = 1e-3});
  EXPECT_TRUE(sgd(run.problem(objective_of(Task::kLogistic, 0, 0)),
                  {.steps = 1, .batch_rate = 1, .step = 1, .clip = clip}, kSilent));
  return run.gate().transcript();
}

}  // namespace

TEST_P(PrivateSgdOnEveryLoss, EqualsItsOpenTwinWhenEpsilonIsAMillion) {
  const Data data = noisy_data(GetParam(), 50000, 5, 0.7, 1);
  for (const SgdResult result : {SgdResult::kLast, SgdResult::kTailAverage}) {
    const glm::Objective objective = objective_of(GetParam(), 0.001, 0.01, Intercept::kPenalised);
    const SgdSettings settings{
        .steps = 6, .batch_rate = 1, .step = 0.2, .momentum = 0.3, .clip = 5, .result = result, .seed = 7};
    PrivateRun run(data, {.epsilon = 1e6, .seed = 7, .derivative_bound = 4});
    const auto noisy = sgd(run.problem(objective), settings, kSilent);
    ASSERT_TRUE(noisy) << noisy.error().message;
    const auto twin = sgd(run.open_problem(objective), settings, kSilent);
    ASSERT_TRUE(twin);
    EXPECT_NEAR(noisy->objective, twin->objective, 1e-6);
    for (std::size_t c = 0; c < twin->weights.size(); ++c) EXPECT_NEAR(noisy->weights[c], twin->weights[c], 1e-6);
    EXPECT_GT(linalg::linf_norm(twin->weights), 0.05);
    EXPECT_EQ(noisy->releases, 6);
  }
}

TEST_P(PrivateSgdOnEveryLoss, EqualsItsOpenTwinOnSampledBatchesWhenEpsilonIsAMillion) {
  // Noise of a weight: h z C sqrt(T) / (q n) = 1.7e-7 with z = 2 sqrt(T / 2e6).
  const Data data = noisy_data(GetParam(), 50000, 5, 0.7, 1);
  const glm::Objective objective = objective_of(GetParam(), 0.001, 0.01, Intercept::kPenalised);
  const SgdSettings settings{
      .steps = 6, .batch_rate = 0.1, .step = 0.1, .momentum = 0.0, .clip = 1, .result = SgdResult::kLast, .seed = 7};
  PrivateRun run(data, {.epsilon = 1e6, .seed = 7, .derivative_bound = 4});
  const auto noisy = sgd(run.problem(objective), settings, kSilent);
  ASSERT_TRUE(noisy) << noisy.error().message;
  EXPECT_LE(run.gate().receipts().front().epsilon, 1e6);
  EXPECT_GT(run.gate().receipts().front().epsilon, 0.9e6);
  const auto twin = sgd(run.open_problem(objective), settings, kSilent);
  EXPECT_NEAR(noisy->objective, twin->objective, 1e-6);
  for (std::size_t c = 0; c < twin->weights.size(); ++c) EXPECT_NEAR(noisy->weights[c], twin->weights[c], 1e-6);
}

TEST_P(PrivateSgdOnEveryLoss, DrawsTheBatchesOfItsOpenTwin) {
  // Ten batches of 2,000 expected records. The noise of a weight is h z C sqrt(T) / (q n) = 4e-4 z, z < 1 at
  // epsilon = 20; other batches would move weights by about h / sqrt(q n) sqrt(T) times a derivative: 1e-2.
  const Data data = noisy_data(GetParam(), 20000, 5, 0.7, 1);
  const glm::Objective objective = objective_of(GetParam(), 0.001, 0.01, Intercept::kPenalised);
  const SgdSettings settings{
      .steps = 10, .batch_rate = 0.1, .step = 0.25, .momentum = 0.0, .clip = 1, .result = SgdResult::kLast, .seed = 7};
  PrivateRun run(data, {.epsilon = 20, .seed = 7, .derivative_bound = 4});
  const auto noisy = sgd(run.problem(objective), settings, kSilent);
  ASSERT_TRUE(noisy) << noisy.error().message;
  const auto twin = sgd(run.open_problem(objective), settings, kSilent);
  for (std::size_t c = 0; c < twin->weights.size(); ++c) EXPECT_NEAR(noisy->weights[c], twin->weights[c], 2.4e-3);
}

TEST_P(PrivateSgdOnEveryLoss, IsMadeOfReleasedValuesOnly) {
  const Data data = noisy_data(GetParam(), 300, 6, 0.7, 2);
  const Data other = noisy_data(GetParam(), 300, 6, 0.2, 3);
  const glm::Objective objective = objective_of(GetParam(), 0.001, 0.01, Intercept::kPenalised);
  for (const double rate : {0.1, 1.0}) {
    const SgdSettings settings{.steps = 8, .batch_rate = rate};
    PrivateRun run(data, {});
    const auto fit = sgd(run.problem(objective), settings, kSilent);
    ASSERT_TRUE(fit) << fit.error().message;
    PrivateRun again(other, {}, run.gate().transcript());
    const auto replayed = sgd(again.problem(objective), settings, kSilent);
    ASSERT_TRUE(replayed) << replayed.error().message;
    EXPECT_EQ(fit->weights, replayed->weights);
    EXPECT_EQ(fit->intercepts, replayed->intercepts);
  }
}

TEST_P(PrivateSgdOnEveryLoss, GivesTheSameBytesWithAnyNumberOfThreads) {
  const Data data = noisy_data(GetParam(), 4000, 7, 0.5, 4);
  const glm::Objective objective = objective_of(GetParam(), 0.001, 0.01, Intercept::kPenalised);
  const int before = thread_count();
  for (const double rate : {0.02, 1.0}) {
    std::vector<std::vector<double>> weights;
    for (const int threads : {1, 2}) {
      set_thread_count(threads);
      PrivateRun run(data, {});
      weights.push_back(sgd(run.problem(objective), {.steps = 5, .batch_rate = rate}, kSilent)->weights);
    }
    EXPECT_EQ(weights[0], weights[1]);
  }
  set_thread_count(before);
}

INSTANTIATE_TEST_SUITE_P(Tasks, PrivateSgdOnEveryLoss,
                         testing::Values(Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax),
                         [](const auto& task) {
                           std::string text(glm::name(task.param));
                           std::erase(text, '-');
                           return text;
                         });

TEST(PrivateSgd, NoRecordMovesAReleaseByMoreThanItsShare) {
  // Neighbours differ in record 0. Whatever stands there - the other label, features beyond their bounds, no
  // numbers - two releases differ by at most twice the clip, plus noise of about 1e-3 in each of six coordinates.
  const double clip = 0.5;
  const Data honest = noisy_data(Task::kLogistic, 100, 6, 1.0, 5);
  const auto with_first = [&](double feature, double label) {
    std::vector<double> values;
    for (int j = 0; j < 6; ++j)
      for (int i = 0; i < 100; ++i) values.push_back(i == 0 ? feature : honest.features.at(i, j));
    Data data{Matrix::from_dense(100, 6, values), honest.labels};
    data.labels[0] = label;
    return data;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> sums;
  for (const double feature : {0.0, 1.0, -1.0, 0.3, 1e9, -1e300, inf, nan})
    for (const double label : {1.0, -1.0}) sums.push_back(released_sum(with_first(feature, label), clip));
  double largest = 0;
  for (const auto& a : sums)
    for (const auto& b : sums) {
      ASSERT_EQ(a.size(), 6u);
      double squares = 0;
      for (std::size_t c = 0; c < a.size(); ++c) squares += (a[c] - b[c]) * (a[c] - b[c]);
      largest = std::max(largest, std::sqrt(squares));
    }
  EXPECT_LE(largest, 2 * clip + 0.03);
  EXPECT_GE(largest, 2 * clip - 0.03);  // and the bound is reached
}

TEST(PrivateSgd, ChargesWhatItWasAllowedAndNoMore) {
  const Data data = noisy_data(Task::kLogistic, 500, 6, 0.7, 6);
  for (const Neighbours neighbours : {Neighbours::kReplaceOne, Neighbours::kAddRemove})
    for (const double rate : {0.05, 1.0}) {
      PrivateRun run(data, {.neighbours = neighbours});
      ASSERT_TRUE(sgd(run.problem(objective_of(Task::kLogistic, 0, 0)), {.steps = 20, .batch_rate = rate}, kSilent));
      ASSERT_EQ(run.gate().receipts().size(), 1u);
      EXPECT_EQ(run.gate().receipts()[0].steps, 20);
      EXPECT_LE(run.gate().receipts()[0].epsilon, 1.0);
      EXPECT_GT(run.gate().receipts()[0].epsilon, 0.98);
    }
}

TEST(PrivateSgd, EndsWhereTheBudgetEndsAndKeepsTheModel) {
  const Data data = noisy_data(Task::kLogistic, 500, 200, 0.05, 7);
  const glm::Objective objective = objective_of(Task::kLogistic, 0, 0);
  for (const SgdSettings& settings :
       {SgdSettings{.steps = 40, .batch_rate = 0.05}, SgdSettings{.steps = 40, .batch_rate = 0.02, .momentum = 0.0}}) {
    PrivateRun run(data, {.epsilon = 1, .budget = 0.5});
    const auto fit = sgd(run.problem(objective), settings, kSilent);
    ASSERT_TRUE(fit) << fit.error().message;
    EXPECT_EQ(fit->stop, Stop::kBudgetEnded);
    EXPECT_GE(fit->iterations, 1);
    EXPECT_LT(fit->iterations, 40);
    EXPECT_GT(linalg::l1_norm(fit->weights), 0.0);
  }
  PrivateRun broke(data, {.epsilon = 1, .budget = 1e-4});
  const auto refused = sgd(broke.problem(objective), {.steps = 40, .batch_rate = 0.05}, kSilent);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kBudgetEnded);
  EXPECT_EQ(broke.gate().releases(), 0);
}

TEST(PrivateSgd, LearnsLessAsEpsilonFallsAndNeverRunsAway) {
  const Data data = noisy_data(Task::kLogistic, 4000, 8, 0.6, 8);
  const glm::Objective objective = objective_of(Task::kLogistic, 0, 0);
  std::vector<double> objectives;
  for (const double epsilon : {100.0, 1.0, 0.1, 0.001}) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      PrivateRun run(data, {.epsilon = epsilon, .seed = seed, .row_bound = 2});
      sum += sgd(run.problem(objective), {}, kSilent)->objective / 4;
    }
    objectives.push_back(sum);
  }
  const double nothing_learned = std::log(2.0);
  EXPECT_LT(objectives[0], objectives[1]);
  EXPECT_LT(objectives[1], objectives[2]);
  EXPECT_LT(objectives[1], nothing_learned - 0.05);
  EXPECT_LT(objectives[2], nothing_learned + 0.15);
  EXPECT_LT(objectives[3], nothing_learned + 0.3);
}

TEST(PrivateSgd, NoiseDrawnWhenItIsReadHasTheLawOfNoiseDrawnAtEveryStep) {
  // Twenty records with a column each, read whenever their record joins, and 380 columns that nobody reads
  // before the end.
  const Data data = one_hot(20, 400);
  const glm::Objective objective = objective_of(Task::kLinear, 0, 0);
  struct Weights {
    std::vector<double> of_records, of_nobody;
  };
  const auto weights = [&](const SgdSettings& settings) {
    Weights all;
    for (std::uint64_t seed = 0; seed < 15; ++seed) {
      PrivateRun run(data, {.epsilon = 2, .seed = seed, .row_bound = 1});
      const auto fit = sgd(run.problem(objective), settings, kSilent);
      EXPECT_TRUE(fit) << fit.error().message;
      // The lazy run releases one total, the eager one sixteen sums.
      EXPECT_EQ(run.gate().transcript().size(), settings.momentum == 0.0 ? 400u : 6400u);
      all.of_records.insert(all.of_records.end(), fit->weights.begin(), fit->weights.begin() + 20);
      all.of_nobody.insert(all.of_nobody.end(), fit->weights.begin() + 20, fit->weights.end());
    }
    return all;
  };
  const Weights drawn_when_read = weights(kLinear), drawn_each_step = weights(not_linear());
  for (const auto part : {&Weights::of_records, &Weights::of_nobody}) {
    const std::vector<double>& lazy = drawn_when_read.*part;
    const std::vector<double>& eager = drawn_each_step.*part;
    const double limit = kolmogorov_limit(lazy.size(), eager.size());
    EXPECT_LT(kolmogorov_distance(lazy, eager), limit);
    // Noise of one step where sixteen are owed, and none at all, would be seen.
    std::vector<double> of_one_step = lazy, none(lazy.size(), 0.0);
    for (double& w : of_one_step) w /= 4;
    EXPECT_GT(kolmogorov_distance(of_one_step, eager), limit);
    EXPECT_GT(kolmogorov_distance(none, eager), limit);
  }
}

TEST(PrivateSgd, RebuildsALazyRunFromItsTranscript) {
  const Data data = one_hot(20, 400);
  const glm::Objective objective = objective_of(Task::kLinear, 0, 0);
  PrivateRun run(data, {.row_bound = 1});
  const auto fit = sgd(run.problem(objective), kLinear, kSilent);
  ASSERT_TRUE(fit) << fit.error().message;
  Data other = data;
  std::fill(other.labels.begin(), other.labels.end(), -0.5);
  PrivateRun again(other, {.row_bound = 1}, run.gate().transcript());
  EXPECT_EQ(sgd(again.problem(objective), kLinear, kSilent)->weights, fit->weights);
}

TEST(PrivateSgd, RefusesAFreeIntercept) {
  const Data data = noisy_data(Task::kLogistic, 50, 3, 0.7, 9);
  PrivateRun run(data, {});
  const auto fit = sgd(run.problem(objective_of(Task::kLogistic, 0, 0, Intercept::kFree)), {}, kSilent);
  ASSERT_FALSE(fit);
  EXPECT_EQ(fit.error().message,
            "model.intercept: a private run takes a penalised intercept (a column of ones) or none (got 'free')");
}

TEST(PrivateSgd, RefusesNoiseOfAPaperThatItDoesNotHave) {
  const Data data = noisy_data(Task::kLogistic, 50, 3, 0.7, 9);
  PrivateRun run(data, {});
  Problem problem = run.problem(objective_of(Task::kLogistic, 0, 0.1));
  PrivateTerms terms = *problem.privacy;
  terms.calibration = privacy::Calibration::kPaper;
  problem.privacy = &terms;
  const auto fit = sgd(problem, {}, kSilent);
  ASSERT_FALSE(fit);
  EXPECT_EQ(fit.error().message, "privacy: sgd takes calibration = \"proved\" and smoothness = \"bounds\"");
}

TEST(SgdPlan, KeepsTheNoiseOfAMarginAtItsScaleWhateverTheNumberOfSteps) {
  const privacy::Target target{*privacy::Epsilon::make(1.0), *privacy::Delta::make(1e-9), Neighbours::kAddRemove};
  const SgdShape shape{.records = 30000, .row_norm = 1, .curvature = 0.25, .target = target, .derivative_bound = 0.5};
  for (const std::optional<int> steps : {std::optional<int>{}, std::optional<int>{40}, std::optional<int>{1000}}) {
    const auto plan = sgd_plan(shape, {.steps = steps});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->rate, 1);
    EXPECT_EQ(plan->clip, 0.5);
    EXPECT_LE(plan->step, 4.0);
    // Deviation of a weight after T steps of noise z C / n each.
    const double moved = plan->step / (1 - plan->momentum);
    const double noise = moved * plan->noise * plan->clip / shape.records * std::sqrt(plan->steps);
    EXPECT_LE(noise, 1.02);
    if (!steps || *steps > 100) {
      EXPECT_GE(noise, 0.95);
    }
  }
  EXPECT_LT(sgd_plan(shape, {})->steps, 300);
}

TEST(SgdPlan, TakesOneSmallStepWhenThereIsHardlyAnyBudget) {
  const privacy::Target target{*privacy::Epsilon::make(0.001), *privacy::Delta::make(1e-9), Neighbours::kReplaceOne};
  const auto plan =
      sgd_plan({.records = 1000, .row_norm = 1, .curvature = 0.25, .target = target, .derivative_bound = 0.5}, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->steps, 1);
  EXPECT_LT(plan->step, 1.0);
  EXPECT_LE(plan->step * plan->noise * plan->clip / 1000, 1.01);
}

TEST(SgdPlan, SamplesWhenThereAreVeryManyRecords) {
  const privacy::Target target{*privacy::Epsilon::make(1.0), *privacy::Delta::make(1e-12), Neighbours::kReplaceOne};
  const auto plan =
      sgd_plan({.records = 1e7, .row_norm = 1, .curvature = 0.25, .target = target, .derivative_bound = 0.5}, {});
  ASSERT_TRUE(plan);
  EXPECT_LT(plan->rate, 0.1);
  EXPECT_GT(plan->noise, 1.0);
}
