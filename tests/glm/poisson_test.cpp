#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "parley/glm/batch.h"
#include "parley/glm/loss.h"
#include "parley/glm/metrics.h"

using namespace parley::glm;

namespace {
const std::vector<double> kMargins = {-700, -30, -3, -0.1, 0, 0.7, 2, 9, 19.9, 20, 20.1, 25, 1e3, 1e6};
const std::vector<double> kCounts = {0, 0.5, 1, 2, 17, 4e5, Poisson::kLargestRate};
}  // namespace

TEST(PoissonLoss, IsHalfTheDevianceOfACount) {
  for (const double y : kCounts) {
    if (y > 0) {
      EXPECT_NEAR(Poisson::value(std::log(y), y), 0, 1e-9 * y);
    }
    for (const double m : kMargins) EXPECT_GE(Poisson::value(m, y), -1e-9 * std::max(1.0, y)) << m << " " << y;
  }
  EXPECT_NEAR(Poisson::value(std::log(7.0), 3), 3 * std::log(3.0 / 7.0) + 4, 1e-12);
}

TEST(PoissonLoss, IsFiniteConvexAndSmoothBeyondItsLargestRate) {
  for (const double y : kCounts) {
    double before = -INFINITY;
    for (const double m : kMargins) {
      EXPECT_TRUE(std::isfinite(Poisson::value(m, y)));
      EXPECT_GE(Poisson::derivative(m, y), before);
      before = Poisson::derivative(m, y);
      if (std::abs(m) > 100) continue;
      const double h = 1e-5, size = std::exp(std::min(m, 20.0)) + y;
      EXPECT_NEAR((Poisson::value(m + h, y) - Poisson::value(m - h, y)) / (2 * h), before, 1e-4 * size) << m;
    }
  }
  EXPECT_EQ(Poisson::second(21, 1), 0);
}

TEST(PoissonLoss, ConjugateMeetsTheLossAtItsDerivative) {
  for (const double y : {0.0, 1.0, 17.0})
    for (const double m : {-3.0, 0.0, 2.0, 9.0}) {
      const double u = Poisson::derivative(m, y);
      EXPECT_NEAR(Poisson::value(m, y) + Poisson::conjugate(u, y), u * m, 1e-9 * (1 + std::abs(u * m)));
    }
  EXPECT_TRUE(std::isinf(Poisson::conjugate(-2, 1)));
}

TEST(PoissonLoss, ProximalPointIsWhereItsConditionHolds) {
  for (const double y : {0.0, 1.0, 17.0})
    for (const double v : {-50.0, -1.0, 0.0, 3.0, 30.0, 1e4})
      for (const double step : {1e-6, 0.1, 1.0, 100.0}) {
        const double m = Poisson::prox(step, v, y);
        EXPECT_NEAR(m - v + step * Poisson::derivative(m, y), 0, 1e-7 * (1 + std::abs(v) + step * Poisson::rate(m)))
            << y << " " << v << " " << step;
      }
}

TEST(PoissonLoss, ArraysAgreeWithSingleRows) {
  std::vector<double> margins, labels;
  for (const double m : kMargins)
    for (const double y : kCounts) {
      margins.push_back(m);
      labels.push_back(y);
    }
  std::vector<double> derivatives(margins.size()), curvatures(margins.size());
  const double mean = mean_loss_and_derivatives(Task::kPoisson, margins, labels, derivatives);
  loss_curvatures(Task::kPoisson, margins, labels, curvatures);
  double sum = 0;
  for (std::size_t i = 0; i < margins.size(); ++i) {
    sum += Poisson::value(margins[i], labels[i]);
    const double rate = Poisson::rate(margins[i]);
    EXPECT_NEAR(derivatives[i], Poisson::derivative(margins[i], labels[i]), 1e-13 * (rate + labels[i]) + 1e-300);
    EXPECT_NEAR(curvatures[i], Poisson::second(margins[i], labels[i]), 1e-13 * rate + 1e-300);
  }
  EXPECT_NEAR(mean, sum / static_cast<double>(margins.size()), 1e-12 * mean);
}

TEST(Threshold, MovesWhatIsCalledPositiveAndNothingElse) {
  const std::vector<double> margins = {-1, 0.5, 1.5, 3}, labels = {-1, -1, 1, 1};
  const Metrics plain = measure(Task::kLogistic, margins, labels), cut = measure(Task::kLogistic, margins, labels, 1);
  EXPECT_EQ(plain.accuracy, 0.75);
  EXPECT_EQ(cut.accuracy, 1.0);
  EXPECT_EQ(plain.log_loss, cut.log_loss);
  EXPECT_EQ(plain.auc, cut.auc);
}
