#include "parley/glm/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "parley/glm/loss.h"

using namespace parley::glm;

namespace {

std::vector<double> random_vector(std::size_t size, double scale, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, scale);
  std::vector<double> v(size);
  for (double& x : v) x = normal(random);
  return v;
}

long double exact_log_sum_exp(const std::vector<double>& m) {
  const long double top = *std::max_element(m.begin(), m.end());
  long double rest = -1;
  for (const double x : m) rest += std::exp(static_cast<long double>(x) - top);
  return top + std::log1p(rest);
}

}  // namespace

TEST(Softmax, AgreesWithLongDoubleUpToMarginsOfAMillion) {
  std::mt19937_64 random(1);
  for (const double scale : {1e-3, 1.0, 30.0, 1e3, 1e6})
    for (int trial = 0; trial < 20; ++trial) {
      const auto m = random_vector(5, scale, random);
      const long double lse = exact_log_sum_exp(m);
      EXPECT_NEAR(Softmax::log_sum_exp(m), static_cast<double>(lse), 1e-15 * (1 + std::abs(static_cast<double>(lse))));
      std::vector<double> gradient(5);
      for (int y = 0; y < 5; ++y) {
        EXPECT_NEAR(Softmax::value(m, y), static_cast<double>(lse - m[static_cast<std::size_t>(y)]),
                    4e-15 * (1 + scale));
        Softmax::gradient(m, y, gradient);
        for (int k = 0; k < 5; ++k) {
          const long double p = std::exp(m[static_cast<std::size_t>(k)] - lse) - (k == y ? 1.0L : 0.0L);
          EXPECT_NEAR(gradient[static_cast<std::size_t>(k)], static_cast<double>(p), 1e-14);
        }
      }
    }
  EXPECT_EQ(Softmax::value(std::vector<double>{1e6, -1e6}, 1), 2e6);
  EXPECT_EQ(Softmax::value(std::vector<double>{1e6, -1e6}, 0), 0);
}

TEST(Softmax, OfTwoClassesIsTheLogisticLoss) {
  for (double m = -50; m <= 50; m += 1.7) {
    EXPECT_NEAR(Softmax::value(std::vector<double>{0, m}, 1), Logistic::value(m, 1), 1e-14 * (1 + std::abs(m)));
    EXPECT_NEAR(Softmax::value(std::vector<double>{0, m}, 0), Logistic::value(m, -1), 1e-14 * (1 + std::abs(m)));
  }
}

TEST(Softmax, HasTheDerivativesOfItsValue) {
  std::mt19937_64 random(2);
  const double h = 1e-5;
  for (int trial = 0; trial < 20; ++trial) {
    const auto m = random_vector(4, 2, random);
    const auto v = random_vector(4, 1, random);
    std::vector<double> gradient(4), p(4), product(4), ahead(4), behind(4);
    Softmax::gradient(m, 2, gradient);
    Softmax::probabilities(m, p);
    Softmax::hessian_product(p, v, product);
    auto forward = m;
    auto backward = m;
    double slope = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      forward[k] += h * v[k];
      backward[k] -= h * v[k];
      slope += gradient[k] * v[k];
    }
    EXPECT_NEAR((Softmax::value(forward, 2) - Softmax::value(backward, 2)) / (2 * h), slope, 1e-8);
    Softmax::gradient(forward, 2, ahead);
    Softmax::gradient(backward, 2, behind);
    double curvature = 0;
    double squares = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_NEAR((ahead[k] - behind[k]) / (2 * h), product[k], 1e-8);
      curvature += v[k] * product[k];
      squares += v[k] * v[k];
    }
    EXPECT_LE(curvature, Softmax::kCurvature * squares);
    EXPECT_GE(curvature, 0);
  }
}

TEST(Softmax, MeetsFenchelYoungWithEqualityAtTheGradient) {
  std::mt19937_64 random(3);
  for (const double scale : {0.1, 3.0, 100.0})
    for (int trial = 0; trial < 20; ++trial) {
      const auto m = random_vector(6, scale, random);
      std::vector<double> u(6);
      Softmax::gradient(m, 1, u);
      double product = 0;
      for (std::size_t k = 0; k < 6; ++k) product += u[k] * m[k];
      EXPECT_NEAR(Softmax::value(m, 1) + Softmax::conjugate(u, 1), product, 1e-13 * (1 + scale));
      // Any other margins leave a gap.
      const auto other = random_vector(6, scale, random);
      double there = 0;
      for (std::size_t k = 0; k < 6; ++k) there += u[k] * other[k];
      EXPECT_GE(Softmax::value(other, 1) + Softmax::conjugate(u, 1), there + (scale < 10 ? 1e-9 : -1e-12 * scale));
    }
}

TEST(Softmax, ConjugateIsInfiniteOutsideTheSimplex) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Softmax::conjugate(std::vector<double>{0.5, -0.4}, 1), infinity);  // sums to 1.1
  EXPECT_EQ(Softmax::conjugate(std::vector<double>{-0.5, 0.5}, 1), infinity);  // a negative share
  EXPECT_EQ(Softmax::conjugate(std::vector<double>{NAN, 0}, 1), infinity);
  EXPECT_EQ(Softmax::conjugate(std::vector<double>{0, 0}, 1), 0);  // a corner
}

TEST(Softmax, ProximalPointIsStationary) {
  std::mt19937_64 random(4);
  for (const std::size_t classes : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{10}})
    for (const double step : {0.0, 1e-4, 0.3, 1.0, 50.0, 1e4, 1e6})
      for (const double scale : {0.1, 5.0, 1e3, 1e6}) {
        const auto v = random_vector(classes, scale, random);
        std::vector<double> m(classes), gradient(classes);
        Softmax::prox(step, v, 0, m);
        Softmax::gradient(m, 0, gradient);
        double size = step;
        for (const double x : v) size = std::max(size, std::abs(x));
        // An ulp of m moves step grad by at most step/2 ulps.
        for (std::size_t k = 0; k < classes; ++k)
          EXPECT_NEAR(m[k] - v[k] + step * gradient[k], 0, 4e-15 * size * (1 + step)) << step << ' ' << scale;
      }
}

TEST(WrightOmega, SolvesItsEquation) {
  for (double x = -200; x < 1e7; x = x < 30 ? x + 0.37 : x * 1.9) {
    const double z = wright_omega(x);
    EXPECT_GT(z, 0);
    EXPECT_NEAR(z + std::log(z), x, 1e-15 * (1 + std::abs(x)) * 2);
  }
}
