// Where parameters are so large or small that numbers could fail: never too low an answer, and never none in silence.
// labels: slow
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "parley/privacy/accounting/calibration.h"
#include "parley/privacy/accounting/sampled_gaussian.h"

using namespace parley::privacy;

namespace {

double epsilon_of(const Plan& plan, double delta, Accountant accountant = Accountant::kBest) {
  return epsilon_at(plan, Delta::make(delta).value(), accountant).value();
}

// D_a(P || Q) of the replace-one pair by the plainest sum over a grid that holds every place where anything is.
double renyi_by_a_plain_sum(double sigma, double rate, double order) {
  const double step = std::min(sigma, sigma * sigma) / 40, low = -20 * sigma - 2, high = 2 * order + 20 * sigma;
  const auto log_mix = [&](double x, double centre) {
    const double own = -0.5 * std::pow((x - centre) / sigma, 2) + std::log(rate);
    const double rest = -0.5 * std::pow(x / sigma, 2) + std::log1p(-rate);
    return std::max(own, rest) + std::log1p(std::exp(-std::fabs(own - rest)));
  };
  std::vector<double> terms;
  for (double x = low; x <= high; x += step) terms.push_back(order * log_mix(x, 1) + (1 - order) * log_mix(x, -1));
  const double top = *std::max_element(terms.begin(), terms.end());
  double sum = 0;
  for (const double term : terms) sum += std::exp(term - top);
  return (top + std::log(sum * step / (sigma * std::sqrt(2 * std::numbers::pi)))) / (order - 1);
}

}  // namespace

TEST(Extremes, RenyiOfReplaceOneFollowsItsPeakWhereverItLies) {
  struct Case {
    double sigma, rate, order;
  };
  const std::vector<Case> cases{{30, 0.99, 1000}, {100, 0.999999, 3000}, {1, 0.9, 50},      {0.5, 0.7, 20},
                                {2, 0.3, 40},     {5, 0.5, 100},         {0.7, 0.999, 300}, {3, 0.01, 12}};
  for (const auto& [sigma, rate, order] : cases) {
    const double plain = renyi_by_a_plain_sum(sigma, rate, order);
    const double ours = accounting::renyi_sampled_gaussian({sigma, rate, Neighbours::kReplaceOne}, order);
    EXPECT_GE(ours, plain * (1 - 1e-9)) << sigma << " " << rate << " " << order;
    EXPECT_LE(ours, plain * (1 + 1e-7)) << sigma << " " << rate << " " << order;
  }
}

TEST(Extremes, LessNoiseNeverCostsLess) {
  for (const Neighbours neighbours : {Neighbours::kReplaceOne, Neighbours::kAddRemove})
    for (const double rate : {0.01, 0.5, 0.999}) {
      double before = 0;
      for (const double noise : {1e3, 10.0, 1.0, 0.3, 0.1, 1e-2, 1e-3, 1e-5, 1e-8}) {
        for (const Accountant accountant : {Accountant::kRdp, Accountant::kZcdp, Accountant::kBest}) {
          const double spent = epsilon_of({neighbours, {{SubsampledGaussian{noise, rate}, 3}}}, 1e-6, accountant);
          EXPECT_GT(spent, 0) << noise << " " << rate;
          if (accountant != Accountant::kBest) continue;
          EXPECT_GE(spent, before * (1 - 1e-3)) << noise << " " << rate;
          before = spent;
        }
      }
    }
}

TEST(Extremes, AlmostNoNoiseIsRefused) {
  for (const double noise : {1e-10, 1e-160, 1e-300})
    EXPECT_FALSE(validate(Mechanism{SubsampledGaussian{noise, 0.5}}, "plan"));
  EXPECT_FALSE(validate(Mechanism{Gaussian{1e-200, 1e200}}, "plan"));
  EXPECT_FALSE(validate(Mechanism{Pure{1e-200}}, "plan"));
}

// Two randomised responses: the total variation is tanh(e/2), that of one.
TEST(Extremes, TheSmallestStepsAreNotPricedTooLow) {
  for (const double e : {1e-15, 1e-13, 1e-10, 1e-7, 1e-4, 0.1, 1.0})
    for (const Accountant accountant : kAccountants) {
      const double delta = delta_at({Neighbours::kReplaceOne, {{Pure{e}, 2}}}, 0, accountant).value();
      EXPECT_GE(delta, std::tanh(e / 2) * (1 - 1e-15)) << e << " " << name(accountant);
    }
  // mu Phi'(x) for mu -> 0 at epsilon = 0 is mu / sqrt(2 pi).
  for (const double mu : {1e-15, 1e-12, 1e-6}) {
    const double delta = delta_at({Neighbours::kReplaceOne, {{Gaussian{1 / mu, 1}, 1}}}, 0).value();
    EXPECT_GE(delta, mu / std::sqrt(2 * std::numbers::pi) * (1 - 1e-12)) << mu;
  }
}

TEST(Extremes, LossDistributionsAnswerForFewSteps) {
  const Plan plan{Neighbours::kAddRemove, {{SubsampledGaussian{0.594, 0.00165}, 11}}};
  const double spent = epsilon_of(plan, 1.7e-4, Accountant::kPld);
  EXPECT_LE(spent, 0.19);
  EXPECT_LE(delta_at(plan, spent, Accountant::kPld).value(), 1.7e-4 * (1 + 1e-3));
}

TEST(Extremes, CalibrationStaysWithinItsTarget) {
  struct Case {
    double epsilon, delta, rate;
    std::int64_t steps;
  };
  const std::vector<Case> cases{
      {0.3, 5.43e-7, 0.00728, 6}, {1e-6, 1e-9, 0.01, 1'000'000}, {0.01, 1e-6, 0.1, 3}, {5, 1e-5, 0.5, 2}};
  for (const auto& [epsilon, delta, rate, steps] : cases) {
    const Target target{Epsilon::make(epsilon).value(), Delta::make(delta).value(), Neighbours::kAddRemove};
    const auto noise = sampled_gaussian_noise(target, rate, steps);
    ASSERT_TRUE(noise) << epsilon;
    EXPECT_LE(epsilon_of({Neighbours::kAddRemove, {{SubsampledGaussian{*noise, rate}, steps}}}, delta), epsilon);
  }
}
