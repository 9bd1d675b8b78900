#include "parley/privacy/accounting/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace parley::privacy;
using testing::HasSubstr;

namespace {

const Plan kEveryMechanism{Neighbours::kAddRemove,
                           {{Gaussian{1.0 / 3, 0.1}, 3},
                            {Laplace{2.5, 1.0, 4}, 1},
                            {DiscreteGaussian{1e6, 12345}, 7},
                            {DiscreteLaplace{40, 3}, 2},
                            {Exponential{0.1}, 9},
                            {Pure{0.7}, 1},
                            {ApproxDp{0.1, 1e-9}, 5},
                            {Zcdp{1e-3}, 1},
                            {SubsampledGaussian{1.1, 0.01}, 10000},
                            {Unprotected{}, 1}}};

std::string why_not(std::string_view json) {
  const auto plan = parse_plan(json, "e.json");
  return plan ? "accepted" : plan.error().message;
}

}  // namespace

TEST(Event, EveryMechanismSurvivesJsonExactly) {
  const auto back = parse_plan(to_json(kEveryMechanism));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, kEveryMechanism);
  for (const Event& event : kEveryMechanism.events) {
    const auto one = parse_event(to_json(event));
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_EQ(*one, event);
  }
}

TEST(Event, CountIsOneWhenLeftOut) {
  const auto plan = parse_plan(R"({"neighbours":"replace-one","events":[{"mechanism":"pure","epsilon":1}]})");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->events.at(0).count, 1);
}

TEST(Event, UnknownMechanismNamesTheClosestOne) {
  EXPECT_THAT(why_not(R"({"neighbours":"add-remove","events":[{"mechanism":"gausian","sigma":1,"sensitivity":1}]})"),
              testing::AllOf(HasSubstr("e.json: events[0].mechanism"), HasSubstr("did you mean 'gaussian'")));
}

TEST(Event, UnknownKeyIsAnError) {
  EXPECT_THAT(why_not(R"({"neighbours":"add-remove","events":[{"mechanism":"pure","epsilom":1}]})"),
              HasSubstr("events[0].epsilom: unknown key; did you mean 'epsilon'"));
  EXPECT_THAT(why_not(R"({"neighbors":"add-remove","events":[]})"), HasSubstr("did you mean 'neighbours'"));
}

TEST(Event, NeighboursAreNeverGuessed) {
  EXPECT_THAT(why_not(R"({"events":[]})"), HasSubstr("neighbours: is required"));
  EXPECT_THAT(why_not(R"({"neighbours":"both","events":[]})"),
              HasSubstr("must be replace-one or add-remove (got 'both')"));
}

TEST(Event, BrokenJsonNamesTheLine) {
  EXPECT_THAT(why_not("{\n\"neighbours\": \"add-remove\",\n\"events\": [}"), HasSubstr("e.json:3: is not valid JSON"));
  EXPECT_THAT(why_not(""), HasSubstr("is not valid JSON"));
}

TEST(Event, SigmaZeroIsRefused) {
  EXPECT_THAT(why_not(R"({"neighbours":"add-remove","events":[{"mechanism":"gaussian","sigma":0,"sensitivity":1}]})"),
              HasSubstr("e.json: events[0].sigma: must be a finite number above 0 (got '0')"));
  EXPECT_FALSE(validate(Mechanism{SubsampledGaussian{0, 0.1}}));
  EXPECT_FALSE(validate(Mechanism{DiscreteGaussian{0, 1}}));
}

TEST(Event, NotANumberIsRefusedInEveryField) {
  const double nan = std::nan("");
  for (const Mechanism& bad :
       {Mechanism{Gaussian{nan, 1}}, Mechanism{Gaussian{1, nan}}, Mechanism{Laplace{nan, 1}},
        Mechanism{Laplace{1, nan}}, Mechanism{DiscreteGaussian{nan, 1}}, Mechanism{DiscreteLaplace{1, nan}},
        Mechanism{Exponential{nan}}, Mechanism{Pure{nan}}, Mechanism{ApproxDp{nan, 0.1}}, Mechanism{ApproxDp{1, nan}},
        Mechanism{Zcdp{nan}}, Mechanism{SubsampledGaussian{nan, 0.1}}, Mechanism{SubsampledGaussian{1, nan}}})
    EXPECT_FALSE(validate(bad)) << name(bad);
}

TEST(Event, InfinityIsRefused) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(validate(Mechanism{Gaussian{inf, 1}}));
  EXPECT_FALSE(validate(Mechanism{Pure{inf}}));
  EXPECT_FALSE(validate(Mechanism{Zcdp{inf}}));
}

TEST(Event, EpsilonOfAStepMustBePositive) {
  for (const double bad : {0.0, -0.5}) {
    EXPECT_FALSE(validate(Mechanism{Exponential{bad}}));
    EXPECT_FALSE(validate(Mechanism{Pure{bad}}));
    EXPECT_FALSE(validate(Mechanism{ApproxDp{bad, 1e-6}}));
  }
}

TEST(Event, DeltaOfAStepMustBeInsideZeroOne) {
  for (const double bad : {0.0, 1.0, -1e-9, 1.5}) EXPECT_FALSE(validate(Mechanism{ApproxDp{1, bad}})) << bad;
}

TEST(Event, SamplingRateMustBeAProbability) {
  for (const double bad : {0.0, -0.1, 1.0000001}) EXPECT_FALSE(validate(Mechanism{SubsampledGaussian{1, bad}})) << bad;
  EXPECT_TRUE(validate(Mechanism{SubsampledGaussian{1, 1.0}}));
}

TEST(Event, SensitivityHasNoDefault) {
  EXPECT_THAT(why_not(R"({"neighbours":"add-remove","events":[{"mechanism":"gaussian","sigma":1}]})"),
              HasSubstr("events[0].sensitivity: is required"));
  EXPECT_FALSE(validate(Mechanism{Gaussian{.sigma = 1}}));
}

TEST(Event, CountsThatOverflowAreRefused) {
  for (const char* bad : {"0", "-1", "1.5", "1e300", "9223372036854775808", "1000000000001", "\"3\""})
    EXPECT_THAT(
        why_not(std::string(R"({"neighbours":"add-remove","events":[{"mechanism":"pure","epsilon":1,"count":)") + bad +
                "}]}"),
        HasSubstr("events[0].count: must be a whole number from 1 to 1000000000000"))
        << bad;
}

TEST(Event, CountsThatOverflowTogetherAreRefused) {
  Plan plan{Neighbours::kAddRemove, {{Pure{1}, kMaxCount}, {Pure{1}, 1}}};
  EXPECT_FALSE(validate(plan));
  plan.events[0].count -= 1;
  EXPECT_TRUE(validate(plan));
}
