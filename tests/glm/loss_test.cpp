#include "parley/glm/loss.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using namespace parley::glm;

namespace {

// The same losses from their definitions in long double.
long double exact_value(Task task, long double m, long double y) {
  if (task == Task::kLinear) return 0.5L * (m - y) * (m - y);
  if (task == Task::kLogistic) {
    const long double t = y * m;
    return t > 0 ? std::log1p(std::exp(-t)) : -t + std::log1p(std::exp(t));
  }
  const long double slack = std::max(0.0L, 1.0L - y * m);
  return slack * slack;
}

long double exact_derivative(Task task, long double m, long double y) {
  if (task == Task::kLinear) return m - y;
  if (task == Task::kLogistic) {
    const long double t = y * m;
    return t > 0 ? -y * std::exp(-t) / (1.0L + std::exp(-t)) : -y / (1.0L + std::exp(t));
  }
  return -2.0L * y * std::max(0.0L, 1.0L - y * m);
}

const std::vector<Task> kScalarTasks = {Task::kLinear, Task::kLogistic, Task::kSquaredHinge};

// Margins of every size that training meets, both signs.
std::vector<double> margins() {
  std::vector<double> all = {0, 1, -1};
  for (double size = 1e-9; size <= 1e6; size *= 3.7) {
    all.push_back(size);
    all.push_back(-size);
  }
  all.insert(all.end(), {1e6, -1e6});
  return all;
}

class EveryScalarLoss : public testing::TestWithParam<Task> {};

}  // namespace

TEST_P(EveryScalarLoss, AgreesWithLongDoubleUpToMarginsOfAMillion) {
  with_loss(GetParam(), [](auto loss) {
    for (const double y : {-1.0, 1.0})
      for (const double m : margins()) {
        const auto value = static_cast<double>(exact_value(GetParam(), m, y));
        const auto derivative = static_cast<double>(exact_derivative(GetParam(), m, y));
        // Rounding y m to double moves t by an ulp, which moves e^-t by |t| ulps: harmless above 1e-300.
        EXPECT_NEAR(loss.value(m, y), value, 4e-15 * std::abs(value) + 1e-300) << m;
        EXPECT_NEAR(loss.derivative(m, y), derivative, 4e-15 * std::abs(derivative) + 1e-300) << m;
      }
  });
}

TEST_P(EveryScalarLoss, HasTheDerivativesOfItsValue) {
  with_loss(GetParam(), [](auto loss) {
    for (const double y : {-1.0, 1.0})
      for (double m = -6.13; m < 6; m += 0.37) {
        const double h = 1e-5;  // central difference error about h^2 + 1e-16/h = 1e-10
        EXPECT_NEAR((loss.value(m + h, y) - loss.value(m - h, y)) / (2 * h), loss.derivative(m, y), 1e-8);
        EXPECT_NEAR((loss.derivative(m + h, y) - loss.derivative(m - h, y)) / (2 * h), loss.second(m, y), 1e-8);
        EXPECT_LE(loss.second(m, y), curvature_bound(GetParam()));
      }
  });
}

TEST_P(EveryScalarLoss, MeetsFenchelYoungWithEqualityAtTheDerivative) {
  with_loss(GetParam(), [](auto loss) {
    for (const double y : {-1.0, 1.0})
      for (const double m : margins()) {
        const double u = loss.derivative(m, y);
        ASSERT_TRUE(loss.in_conjugate_domain(u, y));
        const double left = loss.value(m, y) + loss.conjugate(u, y);
        // When u is near an end of its domain, m u carries the rounding of u times m.
        EXPECT_NEAR(left, u * m, 1e-14 * (1 + loss.value(m, y) + std::abs(u * m) + std::abs(m))) << m;
      }
  });
}

TEST_P(EveryScalarLoss, ConjugateIsTheLargestValueOverMargins) {
  with_loss(GetParam(), [](auto loss) {
    for (const double y : {-1.0, 1.0})
      for (double u = -3; u <= 3; u += 0.125) {
        double best = -std::numeric_limits<double>::infinity();
        for (double m = -40; m <= 40; m += 1.0 / 64) best = std::max(best, u * m - loss.value(m, y));
        if (!loss.in_conjugate_domain(u, y)) {
          EXPECT_EQ(loss.conjugate(u, y), std::numeric_limits<double>::infinity());
          EXPECT_GT(best, 4) << "the supremum over a wide range must already be large";
        } else {
          EXPECT_GE(loss.conjugate(u, y), best - 1e-12);
          EXPECT_NEAR(loss.conjugate(u, y), best,
                      1e-4);  // grid of 1/64: error at most curvature/8 * (1/64)^2
        }
      }
  });
}

TEST_P(EveryScalarLoss, NearestPointOfTheConjugateDomainLiesInIt) {
  with_loss(GetParam(), [](auto loss) {
    for (const double y : {-1.0, 1.0})
      for (const double u : {-1e6, -1.0 - 1e-15, -1.0, -0.3, -0.0, 0.0, 0.3, 1.0, 1.0 + 1e-15, 1e6}) {
        const double nearest = loss.nearest_in_conjugate_domain(u, y);
        EXPECT_TRUE(loss.in_conjugate_domain(nearest, y));
        EXPECT_TRUE(nearest == u || !loss.in_conjugate_domain(u, y)) << u;
      }
  });
}

TEST_P(EveryScalarLoss, ProximalPointIsStationary) {
  with_loss(GetParam(), [](auto loss) {
    for (const double y : {-1.0, 1.0})
      for (const double step : {0.0, 1e-6, 0.03, 1.0, 7.0, 1e3, 1e6})
        for (const double v : margins()) {
          const double m = loss.prox(step, v, y);
          // m - v + step phi'(m) = 0; an ulp of m moves the left side by (1 + step phi'') ulps.
          const double scale = (1 + step * loss.second(m, y)) * (std::abs(m) + std::abs(v)) + std::abs(m - v) + 1e-300;
          EXPECT_NEAR(m - v + step * loss.derivative(m, y), 0, 1e-14 * scale) << v << " step " << step;
        }
  });
}

TEST(Logistic, ProximalPointIsFoundAtExtremeSteps) {
  const double m = Logistic::prox(1e300, -1e6, 1);
  EXPECT_NEAR(m + 1e6, 1e300 * std::exp(-m), 1e-9 * (m + 1e6));  // there 1/(1+e^m) = e^-m to rounding
}

TEST(Logistic, IsSafeAtHugeMargins) {
  EXPECT_EQ(Logistic::value(-1e6, 1), 1e6);
  EXPECT_EQ(Logistic::value(1e6, 1), 0);
  EXPECT_EQ(Logistic::derivative(-1e6, 1), -1);
  EXPECT_EQ(Logistic::second(1e6, 1), 0);
}

INSTANTIATE_TEST_SUITE_P(Losses, EveryScalarLoss, testing::ValuesIn(kScalarTasks), [](const auto& test) {
  std::string text(name(test.param));
  std::erase(text, '-');
  return text;
});
