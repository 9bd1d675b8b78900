// labels: slow
#include "parley/algorithms/sgd/gradient_descent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "parley/algorithms/exact/exact.h"
#include "parley/linalg/vectors.h"
#include "tests/algorithms/noisy_data.h"
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

namespace {

const Observer kSilent;

class DescentOnEveryLoss : public testing::TestWithParam<Task> {};

// Both columns matter alike, and the second has used a hundredth of its bound.
Data narrow_column(int rows, unsigned seed) {
  const Data whole = noisy_data(Task::kLogistic, rows, 2, 1.0, seed);
  std::vector<double> values;
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < rows; ++i) values.push_back(whole.features.at(i, j) * (j == 1 ? 0.01 : 1.0));
  return {Matrix::from_dense(rows, 2, values), whole.labels};
}

}  // namespace

TEST_P(DescentOnEveryLoss, ReachesTheOptimumWhereNothingIsPrivate) {
  const Data data = noisy_data(GetParam(), 400, 5, 0.7, 1);
  for (const Intercept intercept : {Intercept::kNone, Intercept::kPenalised, Intercept::kFree}) {
    const Problem problem{data.features, data.labels, objective_of(GetParam(), 0.002, 0.02, intercept)};
    const auto fit = gradient_descent(problem, {.steps = 5000}, kSilent);
    const auto best = exact(problem, {}, kSilent);
    ASSERT_TRUE(fit && best);
    EXPECT_NEAR(fit->objective, best->objective, 1e-7);
    EXPECT_EQ(fit->stop, Stop::kConverged);
  }
}

TEST_P(DescentOnEveryLoss, IsMadeOfReleasedValuesOnly) {
  const Data data = noisy_data(GetParam(), 6000, 6, 0.7, 2);
  const Data other = noisy_data(GetParam(), 6000, 6, 0.2, 3);
  for (const double l2 : {0.0, 0.01}) {
    const glm::Objective objective = objective_of(GetParam(), 0, l2, Intercept::kPenalised);
    const PrivateRunOptions options{.epsilon = 4, .numbers = {0, 3}, .finds_row_norm = true};
    PrivateRun run(data, options);
    const auto fit = gradient_descent(run.problem(objective), {.steps = 8}, kSilent);
    ASSERT_TRUE(fit) << fit.error().message;
    EXPECT_EQ(fit->l2_used.has_value(), l2 == 0);
    // 8 steps; rows; where the scale is free numbers, and labels that are numbers.
    EXPECT_EQ(fit->releases, 8 + 1 + (l2 == 0 ? 1 : 0) + (l2 == 0 && GetParam() == Task::kLinear ? 1 : 0));
    PrivateRun again(other, options, run.gate().transcript());
    const auto replayed = gradient_descent(again.problem(objective), {.steps = 8}, kSilent);
    ASSERT_TRUE(replayed) << replayed.error().message;
    EXPECT_EQ(fit->weights, replayed->weights);
    EXPECT_EQ(fit->intercepts, replayed->intercepts);
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, DescentOnEveryLoss,
                         testing::Values(Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax),
                         [](const auto& task) {
                           std::string text(glm::name(task.param));
                           std::erase(text, '-');
                           return text;
                         });

TEST(PrivateDescent, ChargesWhatItWasAllowedAndNoMore) {
  const Data data = noisy_data(Task::kLogistic, 6000, 6, 0.7, 6);
  for (const bool look : {false, true}) {
    for (const auto neighbours : {privacy::Neighbours::kReplaceOne, privacy::Neighbours::kAddRemove}) {
      PrivateRun run(data, {.epsilon = 4, .neighbours = neighbours, .numbers = {0, 1, 2}, .finds_row_norm = true});
      const auto fit = gradient_descent(run.problem(objective_of(Task::kLogistic, 0, 0)), {.look = look}, kSilent);
      ASSERT_TRUE(fit) << fit.error().message;
      EXPECT_EQ(fit->stop, Stop::kIterations);
      ASSERT_EQ(run.gate().receipts().size(), 1u);
      EXPECT_LE(run.gate().receipts().front().epsilon, 4);
      EXPECT_GT(run.gate().receipts().front().epsilon, 0.98 * 4);
    }
  }
}

TEST(PrivateDescent, FindsTheScaleOfAColumnWhoseBoundIsLoose) {
  // At epsilon = 4 and n = 20,000 the ridge is about 1e-4: without the look the second weight, which ought to be 100
  // times the first, costs more than it explains.
  const Data data = narrow_column(20000, 4);
  const glm::Objective objective = objective_of(Task::kLogistic, 0, 0, Intercept::kPenalised);
  std::vector<double> objectives;
  for (const bool look : {false, true}) {
    PrivateRun run(data, {.epsilon = 4, .numbers = {0, 1}});
    const auto fit = gradient_descent(run.problem(objective), {.look = look}, kSilent);
    ASSERT_TRUE(fit) << fit.error().message;
    objectives.push_back(fit->objective);
  }
  EXPECT_LT(objectives[1], objectives[0] - 0.05);
  const Problem open{data.features, data.labels, objective};
  EXPECT_LT(objectives[1], exact(open, {}, kSilent)->objective + 0.02);
}

TEST(PrivateDescent, IsNotMovedByAValueBeyondItsBoundOrThatIsNoNumber) {
  const glm::Objective objective = objective_of(Task::kLogistic, 0, 0, Intercept::kPenalised);
  const Data honest = noisy_data(Task::kLogistic, 5000, 3, 1.0, 5);
  for (const double feature : {1e300, std::numeric_limits<double>::infinity(), std::nan("")}) {
    std::vector<double> values;
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 5000; ++i) values.push_back(i == 0 ? feature : honest.features.at(i, j));
    const Data data{Matrix::from_dense(5000, 3, values), honest.labels};
    PrivateRun one(honest, {.epsilon = 1e4, .numbers = {0, 1, 2}, .finds_row_norm = true});
    PrivateRun other(data, {.epsilon = 1e4, .numbers = {0, 1, 2}, .finds_row_norm = true});
    const auto a = gradient_descent(one.problem(objective), {}, kSilent);
    const auto b = gradient_descent(other.problem(objective), {}, kSilent);
    ASSERT_TRUE(a && b);
    for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(a->weights[j], b->weights[j], 0.05);
  }
}

TEST(PrivateDescent, RefusesWhatItCannotKeep) {
  const Data data = noisy_data(Task::kLogistic, 100, 3, 1.0, 5);
  glm::Objective ball = objective_of(Task::kLogistic, 0, 0);
  ball.l1_radius = 2;
  PrivateRun run(data, {});
  EXPECT_FALSE(gradient_descent(run.problem(ball), {}, kSilent));
  EXPECT_FALSE(gradient_descent(run.problem(objective_of(Task::kLogistic, 0, 0, Intercept::kFree)), {}, kSilent));
  EXPECT_TRUE(run.gate().receipts().empty());
}
