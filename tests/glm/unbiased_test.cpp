#include "parley/glm/unbiased.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "parley/glm/batch.h"

using namespace parley::glm;

namespace {

const std::vector<double> kMargins = {-40, -3, -0.7, 0, 0.2, 1.5, 8, 60};

std::vector<double> every(double target) {
  return std::vector<double>(kMargins.size(), target);
}

}  // namespace

TEST(UnbiasedLoss, OfClassesIsThePlainLossToTheBit) {
  for (const Task task : {Task::kLinear, Task::kLogistic, Task::kSquaredHinge}) {
    std::vector<double> labels;
    for (std::size_t i = 0; i < kMargins.size(); ++i) labels.push_back(i % 3 == 0 ? -1 : 1);
    std::vector<double> plain(labels.size()), unbiased(labels.size());
    EXPECT_EQ(mean_loss(task, kMargins, labels), unbiased::mean_loss(task, kMargins, labels));
    EXPECT_EQ(mean_loss_and_derivatives(task, kMargins, labels, plain),
              unbiased::mean_loss_and_derivatives(task, kMargins, labels, unbiased));
    EXPECT_EQ(plain, unbiased);
    for (const double m : kMargins) EXPECT_EQ(Logistic::prox(2.5, m, -1), unbiased::prox(Logistic{}, 2.5, m, -1));
  }
}

// A class that is told rightly with probability p, as +-1/(2p - 1).
TEST(UnbiasedLoss, ItsMeanOverRandomisedResponseIsTheLoss) {
  for (const double p : {0.55, 0.73, 0.99})
    for (const double y : {-1.0, 1.0}) {
      const double scale = 1 / (2 * p - 1);
      std::vector<double> right(kMargins.size()), wrong(right), plain(right);
      const double value =
          p * unbiased::mean_loss_and_derivatives(Task::kLogistic, kMargins, every(y * scale), right) +
          (1 - p) * unbiased::mean_loss_and_derivatives(Task::kLogistic, kMargins, every(-y * scale), wrong);
      const double truth = mean_loss_and_derivatives(Task::kLogistic, kMargins, every(y), plain);
      EXPECT_NEAR(value, truth, 1e-12 * scale * 60);  // rounding of terms of this size
      for (std::size_t i = 0; i < kMargins.size(); ++i)
        EXPECT_NEAR(p * right[i] + (1 - p) * wrong[i], plain[i], 1e-13 * scale);
      // Without the correction the mean is another function: told classes taken for labels shrink the model.
      const double uncorrected = p * mean_loss(Task::kLogistic, kMargins, every(y)) +
                                 (1 - p) * mean_loss(Task::kLogistic, kMargins, every(-y));
      EXPECT_GT(std::abs(uncorrected - truth), 0.001);
    }
}

TEST(UnbiasedLoss, ItsDerivativesAreThoseOfItsValue) {
  constexpr double kStep = 1e-5;
  for (const double target : {-7.3, -0.2, 0.0, 0.4, 2.2})
    for (const double m : {-3.0, -0.5, 0.0, 1.7}) {
      const auto value = [&](double at) {
        return unbiased::mean_loss(Task::kLogistic, std::vector<double>{at}, std::vector<double>{target});
      };
      std::vector<double> derivative(1), second(1);
      unbiased::loss_derivatives(Task::kLogistic, std::vector<double>{m}, std::vector<double>{target}, derivative);
      unbiased::loss_curvatures(Task::kLogistic, std::vector<double>{m}, std::vector<double>{target}, second);
      EXPECT_NEAR(derivative[0], (value(m + kStep) - value(m - kStep)) / (2 * kStep), 1e-8);
      EXPECT_NEAR(second[0], (value(m + kStep) - 2 * value(m) + value(m - kStep)) / (kStep * kStep), 1e-4);
    }
}

TEST(UnbiasedLoss, ItsProximalPointIsStationary) {
  for (const double target : {-7.3, -1.0, 0.0, 0.4, 2.2})
    for (const double step : {0.01, 1.0, 300.0})
      for (const double v : {-5.0, 0.0, 2.0}) {
        const double m = unbiased::prox(Logistic{}, step, v, target);
        std::vector<double> derivative(1);
        unbiased::loss_derivatives(Task::kLogistic, std::vector<double>{m}, std::vector<double>{target}, derivative);
        EXPECT_NEAR(step * derivative[0] + m - v, 0, 1e-9 * (1 + step * (1 + std::abs(target))));
      }
}
