#include "parley/algorithms/coordinate/coordinate_descent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "parley/core/threads.h"
#include "tests/algorithms/noisy_data.h"

using namespace parley;
using namespace parley::algorithms;
using glm::Intercept;
using glm::Task;
using parley::test::Data;
using parley::test::distance_from_optimality;
using parley::test::noisy_data;
using parley::test::objective_of;

namespace {

const Observer kSilent;

class CoordinateDescentOnEveryLoss : public testing::TestWithParam<Task> {};

}  // namespace

TEST_P(CoordinateDescentOnEveryLoss, ReachesTheOptimumOfEveryPenaltyInEitherOrder) {
  for (const double density : {0.3, 1.0}) {  // columns that are followed row by row, and columns that are not
    const Data data = noisy_data(GetParam(), 120, 6, density, 1);
    for (const Intercept intercept : {Intercept::kNone, Intercept::kFree, Intercept::kPenalised})
      for (const auto& [l1, l2] : {std::pair{0.0, 0.1}, {0.02, 0.0}, {0.02, 0.1}})
        for (const CoordinateOrder order : {CoordinateOrder::kCyclic, CoordinateOrder::kUniform}) {
          const Problem problem{data.features, data.labels, objective_of(GetParam(), l1, l2, intercept)};
          const auto fit = coordinate_descent(problem, {.passes = 1000, .order = order, .tolerance = 1e-16}, kSilent);
          ASSERT_TRUE(fit) << fit.error().message;
          EXPECT_LT(distance_from_optimality(problem, *fit), 1e-6);
          if (order == CoordinateOrder::kCyclic) {
            EXPECT_EQ(fit->stop, Stop::kConverged);
          }
        }
  }
}

TEST_P(CoordinateDescentOnEveryLoss, NeverRaisesTheObjective) {
  const Data data = noisy_data(GetParam(), 200, 10, 0.5, 2);
  const Problem problem{data.features, data.labels, objective_of(GetParam(), 0.01, 0.01)};
  const auto fit = coordinate_descent(problem, {.passes = 20, .tolerance = 0}, kSilent);
  ASSERT_TRUE(fit) << fit.error().message;
  ASSERT_EQ(fit->history.size(), 20u);
  for (std::size_t pass = 1; pass < fit->history.size(); ++pass)
    EXPECT_LE(fit->history[pass], fit->history[pass - 1] + 1e-13);
}

TEST_P(CoordinateDescentOnEveryLoss, GivesTheSameBytesWithAnyNumberOfThreads) {
  const Data data = noisy_data(GetParam(), 5000, 7, 0.6, 3);
  const Problem problem{data.features, data.labels, objective_of(GetParam(), 0.001, 0.01, Intercept::kPenalised)};
  const int before = thread_count();
  std::vector<std::vector<double>> weights;
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    weights.push_back(coordinate_descent(problem, {.passes = 2}, kSilent)->weights);
  }
  set_thread_count(before);
  EXPECT_EQ(weights[0], weights[1]);
}

INSTANTIATE_TEST_SUITE_P(Tasks, CoordinateDescentOnEveryLoss,
                         testing::Values(Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax),
                         [](const auto& task) {
                           std::string text(glm::name(task.param));
                           std::erase(text, '-');
                           return text;
                         });

TEST(CoordinateDescent, LeavesAColumnOfZerosAlone) {
  const std::vector<double> values{1, -1, 1, -1, 0, 0, 0, 0};
  const std::vector<double> labels{1, -1, 1, -1};
  const linalg::Matrix features = linalg::Matrix::from_dense(4, 2, values);
  const auto fit = coordinate_descent({features, labels, objective_of(Task::kLogistic, 0, 0.1)}, {}, kSilent);
  ASSERT_TRUE(fit);
  EXPECT_GT(fit->weights[0], 0.5);
  EXPECT_EQ(fit->weights[1], 0);
}

TEST(CoordinateDescent, DrawsAnotherOrderFromAnotherSeed) {
  const Data data = noisy_data(Task::kLogistic, 200, 10, 0.5, 4);
  const Problem problem{data.features, data.labels, objective_of(Task::kLogistic, 0, 0.01)};
  const auto weights = [&](std::uint64_t seed) {
    return coordinate_descent(problem, {.passes = 1, .order = CoordinateOrder::kUniform, .seed = seed}, kSilent)
        ->weights;
  };
  EXPECT_EQ(weights(1), weights(1));
  EXPECT_NE(weights(1), weights(2));
}

TEST(CoordinateDescent, StopsWhenItsObserverAsksAndKeepsTheModel) {
  const Data data = noisy_data(Task::kLogistic, 200, 10, 0.5, 5);
  const auto fit = coordinate_descent({data.features, data.labels, objective_of(Task::kLogistic, 0, 0.01)},
                                      {.passes = 50, .tolerance = 0},
                                      [](const Progress& progress) { return progress.iteration < 30; });
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->stop, Stop::kInterrupted);
  EXPECT_EQ(fit->iterations, 30);
  EXPECT_NE(fit->weights, std::vector<double>(10, 0.0));
}

TEST(CoordinateDescent, RefusesWhatItCannotDo) {
  const Data data = noisy_data(Task::kLogistic, 30, 3, 0.7, 6);
  const auto refusal = [&](const glm::Objective& objective, const CoordinateSettings& settings) {
    const auto fit = coordinate_descent({data.features, data.labels, objective}, settings, kSilent);
    return fit ? "accepted" : fit.error().message;
  };
  glm::Objective plain = objective_of(Task::kLogistic, 0, 0), ball = plain, sparse = plain;
  ball.l1_radius = 2;
  sparse.sparsity = 2;
  EXPECT_EQ(refusal(ball, {}),
            "model.l1_radius: coordinate-descent takes penalties (l1, l2), not constraints (got '2')");
  EXPECT_EQ(refusal(sparse, {}),
            "model.sparsity: coordinate-descent takes penalties (l1, l2), not constraints (got '2')");
  EXPECT_EQ(refusal(plain, {.passes = 0}), "algorithm.passes: must be at least 1 (got '0')");
  EXPECT_EQ(refusal(plain, {.step = 0.0}), "algorithm.step: must be a number above 0 (got '0')");
  EXPECT_EQ(refusal(plain, {.tolerance = std::nan("")}), "algorithm.tolerance: must be a number >= 0 (got 'nan')");
}

TEST(CoordinateDescent, RefusesFeaturesThatAreNotFinite) {
  const std::vector<double> values{1, 2, std::numeric_limits<double>::infinity(), 0};
  const std::vector<double> labels{1, -1};
  const linalg::Matrix features = linalg::Matrix::from_dense(2, 2, values);
  EXPECT_FALSE(coordinate_descent({features, labels, objective_of(Task::kLogistic, 0, 0)}, {}, kSilent));
}
