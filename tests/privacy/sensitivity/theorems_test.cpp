// labels: slow
#include "parley/privacy/sensitivity/theorems.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>

#include "tests/support/sanitized.h"

using namespace parley::privacy;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// argmin of (1/n) sum_i L <u_i, w> + lambda/2 |w|^2 with |u_i| <= 1 is -L/lambda mean(u): linear losses are the worst
// case.
VectorXd linear_argmin(const MatrixXd& u, double lipschitz, double lambda) {
  return -lipschitz / lambda * u.colwise().mean().transpose();
}

struct Party {
  MatrixXd rows;
  VectorXd y, c;
};

// Minimises lambda/2|x|^2 + <y, Dx> + rho/2 |Dx + c|^2 over |x| <= X: the multiplier of the ball by bisection.
VectorXd admm_argmin(const Party& party, double rho, double lambda, double radius) {
  const MatrixXd gram = party.rows.transpose() * party.rows;
  const VectorXd right = -(party.rows.transpose() * (party.y + rho * party.c));
  const auto solve = [&](double extra) -> VectorXd {
    return (rho * gram + (lambda + extra) * MatrixXd::Identity(gram.rows(), gram.cols())).ldlt().solve(right);
  };
  VectorXd x = solve(0);
  if (x.norm() <= radius) return x;
  double low = 0;
  double high = 1;
  while (solve(high).norm() > radius) high *= 2;
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    (solve(middle).norm() > radius ? low : high) = middle;
  }
  return solve(high);
}

}  // namespace

TEST(ArgminSensitivity, IsReachedByOppositeLinearLossesAndNeverExceeded) {
  const StronglyConvexArgmin problem{.lipschitz = 2.0, .strong_convexity = 0.5, .records = 5};
  const double bound = argmin_sensitivity(problem)->value();
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  double worst = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    MatrixXd one(5, 3);
    for (auto& value : one.reshaped()) value = normal(random);
    one.rowwise().normalize();
    MatrixXd two = one;
    if (trial == 0)
      two.row(0) = -one.row(0);
    else
      two.row(0) = Eigen::RowVector3d(normal(random), normal(random), normal(random)).normalized();
    worst = std::max(worst, (linear_argmin(one, 2.0, 0.5) - linear_argmin(two, 2.0, 0.5)).norm());
  }
  EXPECT_LE(worst, bound);
  EXPECT_GT(worst, 0.999 * bound) << "the bound is tight, and the search finds that";
}

TEST(AdmmSharingSensitivity, IsNeverExceededByRandomOrAdversarialNeighbours) {
  PARLEY_SKIP_WHEN_SANITIZED();
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  double closest = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const double rho = std::pow(10, 2 * uniform(random) - 1);
    const double lambda = std::pow(10, 2 * uniform(random) - 1);
    const double row_bound = 1 + uniform(random);
    const double dual_bound = 1 + 2 * uniform(random);
    const double radius = 0.5 + uniform(random);
    const double value_bound = 0.5 + uniform(random);
    const int n = 2 + static_cast<int>(random() % 6);
    const int d = 1 + static_cast<int>(random() % 3);
    Party one{MatrixXd(n, d), VectorXd(n), VectorXd(n)};
    const bool extreme = trial % 2 == 0;  // rows and duals on the edge of what is allowed
    for (int i = 0; i < n; ++i) {
      VectorXd row(d);
      for (int k = 0; k < d; ++k) row(k) = normal(random);
      if (row.norm() > 0) row *= row_bound * (extreme ? 1.0 : uniform(random)) / row.norm();
      one.rows.row(i) = row.transpose();
      one.c(i) = normal(random);
      const double total = dual_bound * (extreme ? (random() % 2 == 0 ? 1.0 : -1.0) : 2 * uniform(random) - 1);
      one.y(i) = total - rho * one.c(i);
    }
    Party two = one;
    two.rows.row(0) = one.rows.row(0) * (extreme ? -1.0 : 2 * uniform(random) - 1);
    const VectorXd x = admm_argmin(one, rho, lambda, radius);
    const VectorXd z = admm_argmin(two, rho, lambda, radius);
    const auto clip = [&](double v) { return std::clamp(v, -value_bound, value_bound); };
    const VectorXd difference = (one.rows * x).unaryExpr(clip) - (two.rows * z).unaryExpr(clip);
    const AdmmSharing party{.value_bound = value_bound,
                            .row_bound = row_bound,
                            .dual_bound = dual_bound,
                            .weight_bound = radius,
                            .rho = rho,
                            .lambda = lambda};
    const double bound = admm_sharing_sensitivity(party)->value();
    EXPECT_LE(difference.norm(), bound);
    closest = std::max(closest, difference.norm() / bound);
  }
  EXPECT_GT(closest, 0.2) << "the search came nowhere near the bound, so it proves little";
}

// The party's part of the model. Single rows that only change sign come close to the bound: half of it would be
// exceeded.
TEST(AdmmWeightsSensitivity, IsNeverExceededByRandomOrAdversarialNeighbours) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  double closest = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const double rho = std::pow(10, 3 * uniform(random) - 2);
    const double lambda = std::pow(10, 2 * uniform(random) - 1);
    const double row_bound = 1 + uniform(random);
    const double target_bound = 1 + 2 * uniform(random);
    const bool extreme = trial % 2 == 0;  // rows and targets on the edge of what is allowed
    const int n = trial % 3 == 0 ? 1 : 2 + static_cast<int>(random() % 6);
    const int d = 1 + static_cast<int>(random() % 3);
    Party one{MatrixXd(n, d), VectorXd(n), VectorXd(n)};
    for (int i = 0; i < n; ++i) {
      VectorXd row(d);
      for (int k = 0; k < d; ++k) row(k) = normal(random);
      if (row.norm() > 0) row *= row_bound * (extreme ? 1.0 : uniform(random)) / row.norm();
      one.rows.row(i) = row.transpose();
      one.y(i) = 0;
      one.c(i) = target_bound * (extreme ? (random() % 2 == 0 ? 1.0 : -1.0) : 2 * uniform(random) - 1);
    }
    Party two = one;
    two.rows.row(0) = one.rows.row(0) * (extreme ? -1.0 : 2 * uniform(random) - 1);
    const double radius = 0.5 * std::sqrt(n * rho / lambda) * target_bound;  // X: no constraint at all
    const VectorXd x = admm_argmin(one, rho, lambda, 1e9), z = admm_argmin(two, rho, lambda, 1e9);
    EXPECT_LE(x.norm(), radius * (1 + 1e-12));
    const double bound = admm_weights_sensitivity({.row_bound = row_bound,
                                                   .dual_bound = rho * target_bound,
                                                   .weight_bound = radius,
                                                   .rho = rho,
                                                   .lambda = lambda})
                             ->value();
    EXPECT_LE((x - z).norm(), bound);
    closest = std::max(closest, (x - z).norm() / bound);
  }
  EXPECT_GT(closest, 0.8) << "the search came nowhere near the bound, so it proves little";
}

TEST(Theorems, RefuseNumbersThatAreNotBounds) {
  EXPECT_FALSE(argmin_sensitivity({.lipschitz = 0, .strong_convexity = 1, .records = 1}));
  EXPECT_FALSE(argmin_sensitivity({.lipschitz = 1, .strong_convexity = std::nan(""), .records = 1}));
  EXPECT_FALSE(admm_sharing_sensitivity(
      {.value_bound = 1, .row_bound = 1, .dual_bound = 1, .weight_bound = 1, .rho = 0, .lambda = 1}));
  AdmmSharing party{.value_bound = 1, .row_bound = 1, .dual_bound = 1, .weight_bound = 1, .rho = 1, .lambda = 1};
  const double exact = admm_sharing_sensitivity(party)->value();
  party.value_error = 0.25;
  EXPECT_EQ(admm_sharing_sensitivity(party)->value(), exact + 0.5);  // either neighbour may be off by it
  party.value_error = -0.25;
  EXPECT_FALSE(admm_sharing_sensitivity(party));
  AdmmWeights weights{.row_bound = 1, .dual_bound = 1, .weight_bound = 1, .rho = 1, .lambda = 2};
  EXPECT_NEAR(admm_weights_sensitivity(weights)->value(), 2, 1e-12);
  weights.weight_error = 0.25;
  EXPECT_NEAR(admm_weights_sensitivity(weights)->value(), 2.5, 1e-12);
  for (double* number : {&weights.row_bound, &weights.lambda, &weights.weight_error}) {
    const double kept = std::exchange(*number, -1);
    EXPECT_FALSE(admm_weights_sensitivity(weights));
    *number = kept;
  }
}
