// labels: slow
#include "parley/privacy/accounting/loss_composition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "parley/privacy/accounting/profile.h"
#include "parley/privacy/accounting/pure_composition.h"
#include "tests/support/sanitized.h"

using namespace parley::privacy;
using namespace parley::privacy::accounting;

namespace {

LossComposition composed(std::unique_ptr<StepLoss> step, std::int64_t count) {
  LossComposition composition;
  composition.add(std::move(step), count);
  return composition;
}

}  // namespace

// The one composition with a closed form: k Gaussians are one Gaussian with mu sqrt(k).
TEST(LossComposition, GaussiansByTransformAreNeverBelowTheClosedFormAndCloseAbove) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 60; ++i) {
    const double total = std::exp(std::log(0.02) + uniform(random) * std::log(300.0));
    const auto count = static_cast<std::int64_t>(std::exp(uniform(random) * std::log(3e4)));
    const double delta = std::exp(-1 - 26 * uniform(random));
    const auto step = composed(gaussian_loss(total / std::sqrt(static_cast<double>(count))), count);
    const double exact = gaussian_epsilon(total, delta), got = step.epsilon(delta);
    EXPECT_GE(got, exact * (1 - 1e-9)) << "mu " << total << " count " << count << " delta " << delta;
    EXPECT_LE(got, exact * (1 + 5e-4) + 2e-6) << "mu " << total << " count " << count << " delta " << delta;
    const double at = exact * 0.9;
    EXPECT_GE(step.delta(at), gaussian_delta(total, at) * (1 - 1e-8));
    EXPECT_LE(step.delta(at), gaussian_delta(total, at) * (1 + 5e-3) + 1e-200);
  }
}

TEST(LossComposition, KeepsItsDigitsFarOutInTheTail) {
  const double mu = 0.7;
  const auto steps = composed(gaussian_loss(mu / 100), 10000);
  for (const double epsilon : {3.0, 5.0, 7.0, 9.0}) {
    const double exact = gaussian_delta(mu, epsilon);
    EXPECT_GE(steps.delta(epsilon), exact) << epsilon;
    EXPECT_LE(steps.delta(epsilon), exact * 1.01) << epsilon << " delta " << exact;
  }
  EXPECT_LT(gaussian_delta(mu, 9.0), 1e-30);
}

// The tilt of large steps is steep and their window wide: factors that ran over it underflowed, and with them the
// answer.
TEST(LossComposition, LargeStepsAreNotForgotten) {
  PARLEY_SKIP_WHEN_SANITIZED();
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 60; ++i) {
    const double e = std::exp(std::log(1e-3) + uniform(random) * std::log(5e4)),
                 delta = std::exp(-1 - 30 * uniform(random));
    const auto count = static_cast<std::int64_t>(std::exp(uniform(random) * std::log(200.0)));
    const auto steps = composed(step_loss(Pure{e}, Neighbours::kReplaceOne), count);
    const double exact = optimal_pure_epsilon(e, count, delta), got = steps.epsilon(delta);
    EXPECT_GE(got, exact * (1 - 1e-9)) << e << " x" << count << " delta " << delta;
    // A law on two points far apart may have no window; then nothing is claimed.
    EXPECT_LE(got, std::isinf(got) ? got : exact * (1 + 2e-3) + 1e-6) << e << " x" << count << " delta " << delta;
    for (const double share : {0.0, 0.5, 0.9, 0.999}) {
      const double at = share * exact;
      EXPECT_GE(steps.delta(at), optimal_pure_delta(e, count, at) * (1 - 1e-9)) << e << " x" << count << " at " << at;
    }
  }
}

TEST(LossComposition, OneStepIsItsProfile) {
  for (const Mechanism& m :
       {Mechanism{Laplace{0.7, 1}}, Mechanism{Exponential{1.5}}, Mechanism{Pure{0.8}},
        Mechanism{SubsampledGaussian{0.9, 0.1}}, Mechanism{DiscreteGaussian{3, 2}}, Mechanism{DiscreteLaplace{5, 7}}})
    for (const Neighbours neighbours : {Neighbours::kAddRemove, Neighbours::kReplaceOne})
      for (const double epsilon : {0.0, 0.2, 0.6}) {
        const double exact = step_delta(m, neighbours, epsilon),
                     got = composed(step_loss(m, neighbours), 1).delta(epsilon, 1e-4);
        EXPECT_GE(got, exact * (1 - 1e-9)) << name(m) << " " << epsilon;
        EXPECT_LE(got, exact * 1.01) << name(m) << " " << epsilon;
      }
}

TEST(LossComposition, DeltaAtZeroIsTheSameInBothDirections) {
  // delta(0) is a total variation distance, which knows no direction.
  for (const Mechanism& m : {Mechanism{Laplace{2, 1}}, Mechanism{Exponential{0.4}}, Mechanism{Pure{0.3}},
                             Mechanism{SubsampledGaussian{0.8, 0.02}}, Mechanism{SubsampledGaussian{2, 0.3}},
                             Mechanism{DiscreteGaussian{4, 1}}, Mechanism{DiscreteLaplace{6, 2}}})
    for (const std::int64_t count : {1, 20, 200}) {
      const auto steps = composed(step_loss(m, Neighbours::kAddRemove), count);
      const double forward = steps.delta_in(+1, 0), backward = steps.delta_in(-1, 0);
      EXPECT_NEAR(forward / backward, 1, 1e-2) << name(m) << " x" << count;
    }
}

TEST(LossComposition, CoarserGridsOnlyEverCostMore) {
  const auto steps = composed(step_loss(SubsampledGaussian{1, 0.02}, Neighbours::kAddRemove), 300);
  double before = 0;
  for (const double tolerance : {1e-5, 1e-3, 1e-1}) {
    const double now = steps.epsilon(1e-6, tolerance);
    EXPECT_GE(now, before * (1 - 1e-9));
    before = now;
  }
}

TEST(LossComposition, LeaksAreAddedNotForgotten) {
  LossComposition steps;
  steps.add(step_loss(Pure{0.1}, Neighbours::kAddRemove), 10);
  steps.add_leak(1e-7, 10);
  EXPECT_GE(steps.delta(5.0), 9.99e-7);
  EXPECT_TRUE(std::isinf(steps.epsilon(9e-7)));
  EXPECT_TRUE(std::isfinite(steps.epsilon(2e-6)));
}

TEST(LossComposition, AStepWithoutADominatingPairMakesItUnavailable) {
  LossComposition steps;
  steps.add(step_loss(Zcdp{0.1}, Neighbours::kAddRemove), 1);
  EXPECT_EQ(steps.delta(1.0), 1);
  EXPECT_TRUE(std::isinf(steps.epsilon(1e-6)));
}

// The dominating pair of bounded-range steps: E[e^(sL)] = e^(e/2) sinh((s+1/2)e)/((e^e-1)(s+1/2)).
TEST(LossComposition, BoundedRangeLawHasItsMoments) {
  const double e = 0.9;
  const LossGrid grid = step_loss(Exponential{e}, Neighbours::kAddRemove)->grid(1e-3, {1e-20, 1e-20});
  for (const double s : {0.0, 1.0, 3.0}) {
    double moment = 0;
    for (std::size_t j = 0; j < grid.log_s.size(); ++j) {
      const double loss = static_cast<double>(grid.first + static_cast<std::int64_t>(j)) * grid.step;
      moment += std::exp(grid.log_s[j] + (s + 0.5) * loss);
    }
    const double exact = std::exp(e / 2) * std::sinh((s + 0.5) * e) / (std::expm1(e) * (s + 0.5));
    EXPECT_NEAR(moment / exact, 1, s == 0 ? 1e-11 : 1e-5) << s;
    EXPECT_GE(moment, exact * (1 - 1e-12));
  }
}
