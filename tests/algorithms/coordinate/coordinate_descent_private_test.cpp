#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "parley/algorithms/coordinate/coordinate_descent.h"
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
using privacy::Neighbours;

namespace {

const Observer kSilent;

class PrivateCoordinateDescentOnEveryLoss : public testing::TestWithParam<Task> {};

}  // namespace

TEST_P(PrivateCoordinateDescentOnEveryLoss, EqualsItsOpenTwinWhenEpsilonIsAMillion) {
  constexpr linalg::Index kRows = 40000;
  // Columns of +-1: the curvature of the data is that of the bounds, so both runs take the same steps.
  Data data = noisy_data(GetParam(), kRows, 5, 1.0, 1);
  std::vector<double> signs;
  for (linalg::Index j = 0; j < 5; ++j)
    for (linalg::Index i = 0; i < kRows; ++i) signs.push_back(data.features.at(i, j) > 0.1 ? 1.0 : -1.0);
  data.features = Matrix::from_dense(kRows, 5, signs);
  for (const CoordinateOrder order : {CoordinateOrder::kCyclic, CoordinateOrder::kUniform}) {
    const glm::Objective objective = objective_of(GetParam(), 0.001, 0.01, Intercept::kPenalised);
    // The noise of a weight after two steps of h is h sqrt(2) 2 R sqrt(2 D) / (sqrt(2e6) n): 4e-7 or less.
    const bool flat = GetParam() == Task::kLogistic || GetParam() == Task::kSoftmax;  // of curvature 1/4
    const CoordinateSettings settings{
        .passes = 2, .step = flat ? 0.125 : 0.5, .order = order, .tolerance = 0, .seed = 3};
    PrivateRun run(data, {.epsilon = 1e6,
                          .derivative_bound = flat                                ? 1.0
                                              : GetParam() == Task::kSquaredHinge ? 8.0
                                                                                  : 2.0});
    const auto noisy = coordinate_descent(run.problem(objective), settings, kSilent);
    ASSERT_TRUE(noisy) << noisy.error().message;
    const auto twin = coordinate_descent(run.open_problem(objective), settings, kSilent);
    ASSERT_TRUE(twin);
    EXPECT_NEAR(noisy->objective, twin->objective, 1e-6);
    for (std::size_t c = 0; c < twin->weights.size(); ++c) EXPECT_NEAR(noisy->weights[c], twin->weights[c], 1e-6);
    EXPECT_GT(linalg::linf_norm(twin->weights), 0.05);
    EXPECT_EQ(noisy->releases, noisy->iterations);
  }
}

TEST_P(PrivateCoordinateDescentOnEveryLoss, IsMadeOfReleasedValuesOnly) {
  const Data data = noisy_data(GetParam(), 300, 6, 0.7, 2);
  const Data other = noisy_data(GetParam(), 300, 6, 0.2, 3);
  const glm::Objective objective = objective_of(GetParam(), 0.001, 0.01, Intercept::kPenalised);
  for (const CoordinateOrder order : {CoordinateOrder::kCyclic, CoordinateOrder::kUniform}) {
    PrivateRun run(data, {});
    const auto fit = coordinate_descent(run.problem(objective), {.passes = 3, .order = order}, kSilent);
    ASSERT_TRUE(fit) << fit.error().message;
    PrivateRun again(other, {}, run.gate().transcript());
    const auto replayed = coordinate_descent(again.problem(objective), {.passes = 3, .order = order}, kSilent);
    ASSERT_TRUE(replayed) << replayed.error().message;
    EXPECT_EQ(fit->weights, replayed->weights);
    EXPECT_EQ(fit->intercepts, replayed->intercepts);
  }
}

TEST_P(PrivateCoordinateDescentOnEveryLoss, IsMadeOfReleasedValuesOnlyWithItsSmoothness) {
  const Data data = noisy_data(GetParam(), 4000, 6, 0.7, 2);
  const Data other = noisy_data(GetParam(), 4000, 6, 0.2, 3);
  const glm::Objective objective = objective_of(GetParam(), 0.001, 0.01, Intercept::kPenalised);
  const parley::test::PrivateRunOptions options{.epsilon = 2, .smoothness = privacy::Smoothness::kPrivate};
  PrivateRun run(data, options);
  const auto fit = coordinate_descent(run.problem(objective), {.passes = 2}, kSilent);
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_EQ(fit->releases, fit->iterations + 1);
  EXPECT_LE(run.gate().receipts()[0].epsilon, 2.0);
  EXPECT_EQ(run.gate().charged().events.size(), 2u);
  PrivateRun again(other, options, run.gate().transcript());
  const auto replayed = coordinate_descent(again.problem(objective), {.passes = 2}, kSilent);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(fit->weights, replayed->weights);
  EXPECT_EQ(fit->intercepts, replayed->intercepts);
}

TEST_P(PrivateCoordinateDescentOnEveryLoss, GivesTheSameBytesWithAnyNumberOfThreads) {
  const Data data = noisy_data(GetParam(), 40000, 4, 0.6, 4);
  const int before = thread_count();
  std::vector<std::vector<double>> weights;
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    PrivateRun run(data, {});
    weights.push_back(
        coordinate_descent(run.problem(objective_of(GetParam(), 0.001, 0.01)), {.passes = 2}, kSilent)->weights);
  }
  set_thread_count(before);
  EXPECT_EQ(weights[0], weights[1]);
}

INSTANTIATE_TEST_SUITE_P(Tasks, PrivateCoordinateDescentOnEveryLoss,
                         testing::Values(Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax),
                         [](const auto& task) {
                           std::string text(glm::name(task.param));
                           std::erase(text, '-');
                           return text;
                         });

TEST(PrivateCoordinateDescent, NoRecordMovesAReleaseByMoreThanItsShare) {
  // Neighbours differ in record 0, whatever stands there. A release is told in contributions of one record: it moves by
  // at most 2, plus noise of about 4e-3. Only the first release has nothing but the data behind it.
  const Data honest = noisy_data(Task::kSquaredHinge, 100, 1, 1.0, 5);
  std::vector<double> first;
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const double feature : {0.0, 1.0, -1.0, 0.3, 1e9, -1e300, inf, nan})
    for (const double label : {1.0, -1.0}) {
      std::vector<double> values;
      for (int i = 0; i < 100; ++i) values.push_back(i == 0 ? feature : honest.features.at(i, 0));
      Data data{Matrix::from_dense(100, 1, values), honest.labels};
      data.labels[0] = label;
      PrivateRun run(data, {.epsilon = 1e6, .delta = 1e-3, .derivative_bound = 0.7});
      ASSERT_TRUE(coordinate_descent(run.problem(objective_of(Task::kSquaredHinge, 0, 0)), {.passes = 1}, kSilent));
      first.push_back(run.gate().transcript().front());
    }
  const auto [least, most] = std::minmax_element(first.begin(), first.end());
  EXPECT_LE(*most - *least, 2.03);
  EXPECT_GE(*most - *least, 1.97);  // and the bound is reached
}

TEST(PrivateCoordinateDescent, ChargesWhatItWasAllowedAndNoMore) {
  const Data data = noisy_data(Task::kLogistic, 500, 6, 0.7, 6);
  for (const Neighbours neighbours : {Neighbours::kReplaceOne, Neighbours::kAddRemove}) {
    PrivateRun run(data, {.neighbours = neighbours});
    ASSERT_TRUE(coordinate_descent(run.problem(objective_of(Task::kLogistic, 0, 0)), {.passes = 5}, kSilent));
    ASSERT_EQ(run.gate().receipts().size(), 1u);
    EXPECT_EQ(run.gate().receipts()[0].steps, 30);
    EXPECT_LE(run.gate().receipts()[0].epsilon, 1.0);
    EXPECT_GT(run.gate().receipts()[0].epsilon, 0.98);
  }
}

TEST(PrivateCoordinateDescent, EndsWhereTheBudgetEndsAndKeepsTheModel) {
  const Data data = noisy_data(Task::kLogistic, 500, 6, 0.7, 7);
  PrivateRun run(data, {.epsilon = 1, .budget = 0.5});
  const auto fit = coordinate_descent(run.problem(objective_of(Task::kLogistic, 0, 0)), {.passes = 10}, kSilent);
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_EQ(fit->stop, Stop::kBudgetEnded);
  EXPECT_GT(fit->iterations, 2);
  EXPECT_LT(fit->iterations, 60);
  EXPECT_GT(linalg::l1_norm(fit->weights), 0.0);
}

TEST(PrivateCoordinateDescent, LearnsLessAsEpsilonFallsAndNeverRunsAway) {
  const Data data = noisy_data(Task::kLogistic, 4000, 4, 0.8, 8);
  std::vector<double> objectives;
  for (const double epsilon : {100.0, 1.0, 0.1, 0.001}) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      PrivateRun run(data, {.epsilon = epsilon, .seed = seed});
      sum += coordinate_descent(run.problem(objective_of(Task::kLogistic, 0, 0)), {}, kSilent)->objective / 4;
    }
    objectives.push_back(sum);
  }
  const double nothing_learned = std::log(2.0);
  EXPECT_LT(objectives[0], objectives[1]);
  EXPECT_LT(objectives[1], objectives[2]);
  EXPECT_LT(objectives[1], nothing_learned - 0.05);
  EXPECT_LT(objectives[3], nothing_learned + 0.3);
}

TEST(PrivateCoordinateDescent, RefusesAFreeIntercept) {
  const Data data = noisy_data(Task::kLogistic, 50, 3, 0.7, 9);
  PrivateRun run(data, {});
  const auto fit = coordinate_descent(run.problem(objective_of(Task::kLogistic, 0, 0, Intercept::kFree)), {}, kSilent);
  ASSERT_FALSE(fit);
  EXPECT_EQ(fit.error().message,
            "model.intercept: a private run takes a penalised intercept (a column of ones) or none (got 'free')");
}

TEST(PrivateCoordinateDescent, RefusesNoiseOfAPaperThatItDoesNotHave) {
  const Data data = noisy_data(Task::kLogistic, 50, 3, 0.7, 9);
  PrivateRun run(data, {});
  Problem problem = run.problem(objective_of(Task::kLogistic, 0, 0.1));
  PrivateTerms terms = *problem.privacy;
  terms.calibration = privacy::Calibration::kPaper;
  problem.privacy = &terms;
  const auto fit = coordinate_descent(problem, {}, kSilent);
  ASSERT_FALSE(fit);
  EXPECT_EQ(fit.error().message, "privacy: coordinate-descent takes calibration = \"proved\"");
}
