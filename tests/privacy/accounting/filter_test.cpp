#include "parley/privacy/accounting/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "parley/privacy/accounting/accountant.h"

using namespace parley;
using namespace parley::privacy;
using testing::HasSubstr;

namespace {

constexpr Neighbours kRelation = Neighbours::kReplaceOne;

Filter::Budget budget(double epsilon, double delta) {
  return {Epsilon::make(epsilon).value(), Delta::make(delta).value(), kRelation};
}

int allowed(Filter& filter, const Mechanism& mechanism) {
  int count = 0;
  while (filter.charge({mechanism, 1}, kRelation)) ++count;
  return count;
}

}  // namespace

TEST(Filter, WhatItLetsThroughStaysWithinTheBudget) {
  for (const Mechanism& m :
       {Mechanism{Gaussian{20, 1}}, Mechanism{Exponential{0.05}}, Mechanism{Laplace{25, 1}}, Mechanism{Pure{0.03}}}) {
    Filter filter = Filter::make(budget(1, 1e-6)).value();
    const int count = allowed(filter, m);
    ASSERT_GT(count, 10) << name(m);
    EXPECT_LE(epsilon_at({kRelation, {{m, count}}}, Delta::make(1e-6).value()).value(), 1.0) << name(m);
    EXPECT_LE(filter.used(), 1);
    EXPECT_GT(filter.used(), 0.9);
  }
}

TEST(Filter, RefusesBeforeTheReleaseAndRemembersNothingOfIt) {
  Filter filter = Filter::make(budget(1, 1e-6)).value();
  ASSERT_TRUE(filter.charge({Pure{0.6}, 1}, kRelation));
  const double used = filter.used();
  const auto refused = filter.charge({Pure{0.6}, 1}, kRelation);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kBudgetEnded);
  EXPECT_THAT(refused.error().message, HasSubstr("refused"));
  EXPECT_EQ(filter.used(), used);
  EXPECT_TRUE(filter.may({Pure{0.39}, 1}, kRelation));
}

TEST(Filter, FewPureStepsMaySpendTheWholeEpsilon) {
  Filter filter = Filter::make(budget(1, 1e-6)).value();
  EXPECT_TRUE(filter.charge({Pure{0.999999}, 1}, kRelation));
}

TEST(Filter, ManySmallPureStepsGoBeyondTheSum) {
  Filter filter = Filter::make(budget(1, 1e-6)).value();
  EXPECT_GT(allowed(filter, Exponential{0.01}), 1500);
}

TEST(Filter, NeverMixesNeighbouringRelations) {
  Filter filter = Filter::make(budget(1, 1e-6)).value();
  const auto mixed = filter.may({Pure{0.1}, 1}, Neighbours::kAddRemove);
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().fault, Fault::kBadInput);
  EXPECT_THAT(mixed.error().message, HasSubstr("never added"));
}

TEST(Filter, RenyiRulesSeeTheSampling) {
  Filter plain = Filter::make(budget(2, 1e-5)).value();
  Filter renyi = Filter::make(budget(2, 1e-5), {.orders = {8, 16}}).value();
  const Mechanism m = SubsampledGaussian{2, 0.01};
  const int by_zcdp = allowed(plain, m), by_renyi = allowed(renyi, m);
  EXPECT_LT(by_zcdp, 5);
  EXPECT_GT(by_renyi, 1000);
  EXPECT_LE(epsilon_at({kRelation, {{m, by_renyi}}}, Delta::make(1e-5).value(), Accountant::kRdp).value(), 2.0);
}

TEST(Filter, ApproximateStepsNeedAPartOfDelta) {
  Filter none = Filter::make(budget(1, 1e-6)).value();
  EXPECT_FALSE(none.may({ApproxDp{0.01, 1e-9}, 1}, kRelation));
  Filter some = Filter::make(budget(1, 1e-6), {.step_delta = 5e-9}).value();
  EXPECT_EQ(allowed(some, ApproxDp{0.01, 1e-9}), 4);  // the fifth would round above what was set aside
}

TEST(Filter, UnprotectedReleaseIsAlwaysRefused) {
  Filter filter = Filter::make(budget(1e6, 0.5)).value();
  EXPECT_FALSE(filter.may({Unprotected{}, 1}, kRelation));
}

TEST(Filter, RefusesBadSettings) {
  EXPECT_FALSE(Filter::make(budget(1, 1e-6), {.orders = {1.0}}));
  EXPECT_FALSE(Filter::make(budget(1, 1e-6), {.orders = {std::nan("")}}));
  EXPECT_FALSE(Filter::make(budget(1, 1e-6), {.step_delta = 1e-6}));
  EXPECT_FALSE(Filter::make(budget(1, 1e-6), {.step_delta = -1}));
}

TEST(Filter, RefusesWhatIsNotAMechanism) {
  const Filter filter = Filter::make(budget(1, 1e-6)).value();
  EXPECT_EQ(filter.may({Gaussian{0, 1}, 1}, kRelation).error().fault, Fault::kBadInput);
  EXPECT_EQ(filter.may({Pure{0.1}, 0}, kRelation).error().fault, Fault::kBadInput);
}

TEST(PlannedFilter, AllowsThePlanInAnyOrderAndNotOneMore) {
  PlannedFilter filter =
      PlannedFilter::make({kRelation, {{Gaussian{5, 1}, 2}, {Exponential{0.1}, 2}, {Gaussian{5, 1}, 1}}}).value();
  EXPECT_TRUE(filter.charge({Exponential{0.1}, 1}, kRelation));
  EXPECT_TRUE(filter.charge({Gaussian{5, 1}, 3}, kRelation));
  EXPECT_TRUE(filter.charge({Exponential{0.1}, 1}, kRelation));
  const auto refused = filter.charge({Exponential{0.1}, 1}, kRelation);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kBudgetEnded);
}

TEST(PlannedFilter, RefusesAnotherMechanismEvenACheaperOne) {
  const PlannedFilter filter = PlannedFilter::make({kRelation, {{Gaussian{5, 1}, 2}}}).value();
  EXPECT_FALSE(filter.may({Gaussian{6, 1}, 1}, kRelation));
  EXPECT_FALSE(filter.may({Gaussian{5, 1}, 1}, Neighbours::kAddRemove));
}
