#include "parley/glm/objective.h"

#include <gtest/gtest.h>

#include <vector>

#include "parley/linalg/matrix.h"

using namespace parley::glm;
using parley::linalg::Matrix;

TEST(Objective, IsMeanLossPlusPenalties) {
  const Matrix x = Matrix::from_dense(2, 2, std::vector<double>{1, 0, 2, -1});
  const std::vector<double> y = {1, 2};
  const std::vector<double> w = {3, -1};
  const std::vector<double> b = {0.5};
  // margins 1*3 - 2 + 0.5 = 1.5 and 1 + 0.5 = 1.5; losses 0.125 each
  Objective objective{.task = Task::kLinear, .l1 = 0.1, .l2 = 0.2, .intercept = Intercept::kFree};
  EXPECT_NEAR(evaluate(objective, x, y, w, b), 0.125 + 0.4 + 0.1 * 10, 1e-15);
  objective.intercept = Intercept::kPenalised;
  EXPECT_NEAR(evaluate(objective, x, y, w, b), 0.125 + 0.4 + 0.1 * 10 + 0.05 + 0.1 * 0.25, 1e-15);
}

TEST(Objective, StoresSoftmaxWeightsAndMarginsClassByClass) {
  const Matrix x = Matrix::from_dense(2, 2, std::vector<double>{1, 0, 0, 1});
  const std::vector<double> w = {1, 2, 3, 4, 5, 6};
  std::vector<double> margins(6);
  compute_margins(x, w, std::vector<double>{10, 20, 30}, margins);
  EXPECT_EQ(margins, (std::vector<double>{11, 12, 23, 24, 35, 36}));
}

TEST(Objective, CountsAPenalisedInterceptInItsConstraints) {
  const std::vector<double> w = {1, 0};
  const std::vector<double> b = {1};
  Objective ball{.l1_radius = 1.5, .intercept = Intercept::kFree};
  EXPECT_TRUE(feasible(ball, w, b));
  ball.intercept = Intercept::kPenalised;
  EXPECT_FALSE(feasible(ball, w, b));
  Objective sparse{.sparsity = 1, .intercept = Intercept::kFree};
  EXPECT_TRUE(feasible(sparse, w, b));
  sparse.intercept = Intercept::kPenalised;
  EXPECT_FALSE(feasible(sparse, w, b));
}
