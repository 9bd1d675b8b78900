#include "parley/privacy/accounting/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace parley::privacy;

namespace {

Target target(double epsilon, double delta, Neighbours neighbours = Neighbours::kAddRemove) {
  return {Epsilon::make(epsilon).value(), Delta::make(delta).value(), neighbours};
}

double spent(const Plan& plan, double delta, Accountant accountant = Accountant::kBest) {
  return epsilon_at(plan, Delta::make(delta).value(), accountant).value();
}

}  // namespace

TEST(Calibration, GaussianNoiseMeetsTheTargetAndNotMuchMore) {
  for (const double epsilon : {0.01, 0.5, 1.0, 8.0})
    for (const std::int64_t steps : {1, 100}) {
      const double z = gaussian_noise(target(epsilon, 1e-6), steps).value();
      EXPECT_LE(spent({Neighbours::kAddRemove, {{Gaussian{z, 1}, steps}}}, 1e-6), epsilon);
      EXPECT_GE(spent({Neighbours::kAddRemove, {{Gaussian{z * (1 - 1e-6), 1}, steps}}}, 1e-6), epsilon);
    }
}

TEST(Calibration, GaussianNoiseIsTheAnalyticOne) {
  EXPECT_NEAR(gaussian_noise(target(0.01, 1e-3), 1).value(), 93.90741983985157, 1e-6);
}

TEST(Calibration, SampledGaussianNoiseMeetsTheTargetAndNotMuchMore) {
  for (const Neighbours neighbours : {Neighbours::kAddRemove, Neighbours::kReplaceOne})
    for (const Accountant accountant : {Accountant::kBest, Accountant::kRdp}) {
      const double z = sampled_gaussian_noise(target(2, 1e-5, neighbours), 0.02, 500, accountant).value();
      EXPECT_LE(spent({neighbours, {{SubsampledGaussian{z, 0.02}, 500}}}, 1e-5, accountant), 2.0);
      EXPECT_GT(spent({neighbours, {{SubsampledGaussian{z * 0.998, 0.02}, 500}}}, 1e-5, accountant), 2.0);
    }
}

TEST(Calibration, SampledGaussianNoiseAgreesWithTheReference) {
  const double z = sampled_gaussian_noise(target(1, 1e-5), 0.01, 1000).value();
  EXPECT_GE(z, 1.4146194065288467 * (1 - 1e-6));
  EXPECT_LE(z, 1.4146194065288467 * (1 + 1e-3));
}

TEST(Calibration, UtilityFallsAsEpsilonGoesToZero) {
  double sampled = 0, plain = 0, value = 0, selection = 1e300;
  for (const double epsilon : {8.0, 2.0, 0.5, 0.1, 0.02}) {
    const double z = sampled_gaussian_noise(target(epsilon, 1e-6), 0.05, 100).value();
    EXPECT_GT(z, sampled);
    sampled = z;
    const double g = gaussian_noise(target(epsilon, 1e-6), 100).value();
    EXPECT_GT(g, plain);
    plain = g;
    const auto both = select_and_release_noise(target(epsilon, 1e-6), {.steps = 20}).value();
    EXPECT_GT(both.value_multiplier, value);
    EXPECT_LT(both.selection_epsilon, selection);
    value = both.value_multiplier;
    selection = both.selection_epsilon;
  }
}

TEST(Calibration, SelectAndReleaseStaysWithinTheTarget) {
  for (const std::int64_t steps : {1, 2, 30})
    for (const double share : {0.0, 0.4, 1.0})
      for (const ValueNoise noise : {ValueNoise::kGaussian, ValueNoise::kLaplace}) {
        const auto found = select_and_release_noise(target(1, 1e-6), {steps, share, noise});
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_LE(found->account.epsilon, 1.0) << steps << " " << share;
        EXPECT_GT(found->account.epsilon, 0.998) << steps << " " << share;
        EXPECT_EQ(found->selection_epsilon > 0, share > 0);
        EXPECT_EQ(found->value_multiplier > 0, share < 1);
      }
}

TEST(Calibration, LossDistributionNeedsLessNoiseThanZcdp) {
  const auto zcdp = select_and_release_noise(
                        target(1, 1e-6), {.steps = 20, .share = 0.5, .noise = ValueNoise::kGaussian}, Accountant::kZcdp)
                        .value();
  const auto best =
      select_and_release_noise(target(1, 1e-6), {.steps = 20, .share = 0.5, .noise = ValueNoise::kGaussian}).value();
  EXPECT_NEAR(zcdp.selection_epsilon, std::sqrt(8 * 0.024356 / 40), 1e-4);
  EXPECT_GT(best.selection_epsilon, zcdp.selection_epsilon);
  EXPECT_LT(best.value_multiplier, zcdp.value_multiplier);
  const auto values_by_zcdp =
      select_and_release_noise(target(1, 1e-6), {.steps = 20, .share = 0, .noise = ValueNoise::kGaussian},
                               Accountant::kZcdp)
          .value();
  EXPECT_LT(gaussian_noise(target(1, 1e-6), 20).value(), values_by_zcdp.value_multiplier / 1.05);
}

TEST(Calibration, ChoosesLaplaceForOneStepAndGaussianForMany) {
  EXPECT_EQ(select_and_release_noise(target(1, 1e-6), {.steps = 1}).value().noise, ValueNoise::kLaplace);
  EXPECT_EQ(select_and_release_noise(target(1, 1e-6), {.steps = 100}).value().noise, ValueNoise::kGaussian);
}

TEST(Calibration, OneSelectionSpendsTheWholeEpsilon) {
  EXPECT_GE(selection_epsilon(target(1, 1e-9), 1).value(), 1.0 * (1 - 1e-4));
}

TEST(Calibration, RefusesBadShapes) {
  EXPECT_FALSE(gaussian_noise(target(1, 1e-6), 0));
  EXPECT_FALSE(gaussian_noise(target(1, 1e-6), kMaxCount + 1));
  EXPECT_FALSE(sampled_gaussian_noise(target(1, 1e-6), 0, 10));
  EXPECT_FALSE(sampled_gaussian_noise(target(1, 1e-6), 1.5, 10));
  EXPECT_FALSE(sampled_gaussian_noise(target(1, 1e-6), std::nan(""), 10));
  EXPECT_FALSE(select_and_release_noise(target(1, 1e-6), {.steps = 10, .share = -0.1}));
  EXPECT_FALSE(select_and_release_noise(target(1, 1e-6), {.steps = 10, .share = std::nan("")}));
  EXPECT_FALSE(selection_epsilon(target(1, 1e-6), -3));
}

TEST(Calibration, SampledNoiseAtHugeEpsilonIsThatWithoutSamplingAndWithinTheTarget) {
  for (const Neighbours neighbours : {Neighbours::kAddRemove, Neighbours::kReplaceOne})
    for (const std::int64_t steps : {1, 10}) {
      const Target target{*Epsilon::make(1e6), *Delta::make(1e-6), neighbours};
      const double noise = *sampled_gaussian_noise(target, 0.1, steps);
      EXPECT_NEAR(noise, *sampled_gaussian_noise(target, 1, steps), 1e-3 * noise);
      const Plan plan{neighbours, {{SubsampledGaussian{noise, 0.1}, steps}}};
      EXPECT_LE(*epsilon_at(plan, target.delta), 1e6);
      EXPECT_GT(*epsilon_at({neighbours, {{SubsampledGaussian{0.5 * noise, 0.1}, steps}}}, target.delta), 2e6);
      // And it never costs more than without sampling.
      EXPECT_LE(*epsilon_at(plan, target.delta),
                1.001 * *epsilon_at({neighbours, {{SubsampledGaussian{noise, 1}, steps}}}, target.delta));
    }
}
