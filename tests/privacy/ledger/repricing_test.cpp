// Plans that an earlier version priced too low: named, and counted as what they cost.
#include "parley/privacy/ledger/repricing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>

#include "parley/privacy/accounting/accountant.h"
#include "tests/privacy/with_ledger.h"

using namespace parley;
using namespace parley::privacy;

namespace {

const Delta kDelta = *Delta::make(1e-6);
const Plan kGaussians{kPatients.neighbours, {{Gaussian{20, 1}, 10}}};

class RepricingTest : public ::testing::Test {
 protected:
  void allow(double epsilon) {
    ASSERT_TRUE(Ledger::open(folder_.path())
                    ->set_budget(kPatients, {*Epsilon::make(epsilon), *Delta::make(1e-3), Composition::kPlans}));
  }
  // As a version with the pricing `pricing` wrote it.
  void append(const std::string& run, const Plan& plan, double epsilon, std::int64_t pricing) {
    const Entry last = Ledger::open_read_only(folder_.path())->entries()->back();
    Entry entry{
        .number = last.number + 1,
        .time = 1,
        .kind = "plan",
        .purse = kPatients,
        .run = run,
        .key = "plan 1",
        .content = to_json(ChargedPlan{.plan = plan, .price = {epsilon, kDelta.value()}, .pricing = pricing}, 10, 10)};
    const std::string sql = fmt::format(
        "INSERT INTO entry VALUES ({0}, 1, 'plan', 'patients', 'record', 'replace-one', '{1}', 'plan 1', '{2}', '{3}');"
        "UPDATE head SET number = {0}, hash = '{3}'",
        entry.number, run, entry.content, linked(last.hash, entry));
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "ledger.sqlite").c_str(), &connection), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(connection);
    sqlite3_close(connection);
  }
  TemporaryFolder folder_;
};

}  // namespace

TEST_F(RepricingTest, WhatWasPricedTooLowCountsAsWhatItCosts) {
  const double cost = *epsilon_at(kGaussians, kDelta);
  allow(cost + 0.5);
  append("old", kGaussians, 0.001, 1);
  Ledger ledger = std::move(*Ledger::open(folder_.path()));
  EXPECT_GE(ledger.spent(kPatients)->epsilon, cost);
  EXPECT_FALSE(ledger.spent(kPatients)->overspent);
  EXPECT_FALSE(ledger.charge_plan(kPatients, {.run = "a", .key = "plan", .step = {{Pure{0.51}, 1}}, .delta = kDelta}));
  EXPECT_TRUE(ledger.charge_plan(kPatients, {.run = "b", .key = "plan", .step = {{Pure{0.49}, 1}}, .delta = kDelta}));
  EXPECT_GE((*ledger.paid_plan(kPatients, "old", "plan 1"))->receipt.epsilon, cost)
      << "a run that goes on claims no less";

  const auto audit = ledger.audit();
  ASSERT_TRUE(audit);
  EXPECT_EQ(audit->entries, 3);
  ASSERT_EQ(audit->too_low.size(), 1u);
  EXPECT_EQ(audit->too_low[0].entry, 2);
  EXPECT_EQ(audit->too_low[0].run, "old");
  EXPECT_EQ(audit->too_low[0].recorded, 0.001);
  EXPECT_EQ(audit->too_low[0].delta, 1e-6);
  EXPECT_EQ(audit->too_low[0].cost, cost);
  EXPECT_FALSE(ledger.verify());
}

TEST_F(RepricingTest, ABudgetThatIsExceededByTheRightPriceReleasesNothingMore) {
  const double cost = *epsilon_at(kGaussians, kDelta);
  allow(0.9 * cost);
  append("old", kGaussians, 0.1 * cost, 1);
  Ledger ledger = std::move(*Ledger::open(folder_.path()));
  EXPECT_TRUE(ledger.spent(kPatients)->overspent);
  EXPECT_FALSE(ledger.charge_plan(kPatients, {.run = "a", .key = "plan", .step = {{Pure{1e-6}, 1}}, .delta = kDelta}));
  EXPECT_FALSE(ledger.charge(kPatients, {"run", "p", {Pure{1e-9}, 1}}));
  const auto paid = ledger.paid_plan(kPatients, "old", "plan 1");
  ASSERT_FALSE(paid) << "draws that were not made yet stay here";
  EXPECT_EQ(paid.error().fault, Fault::kBudgetEnded);
  EXPECT_NE(paid.error().message.find("an earlier version priced its plan"), std::string::npos) << paid.error().message;
}

TEST_F(RepricingTest, ARightPriceOfAnEarlierVersionStands) {
  const double cost = *epsilon_at(kGaussians, kDelta);
  allow(cost);
  append("old", kGaussians, cost, 1);
  Ledger ledger = std::move(*Ledger::open(folder_.path()));
  EXPECT_EQ(ledger.spent(kPatients)->epsilon, cost);
  EXPECT_FALSE(ledger.spent(kPatients)->overspent);
  EXPECT_TRUE(ledger.verify());
}

// Two steps of 3 are 6 and not 0, whatever a delta of 1e-5 buys: what once was the answer.
TEST_F(RepricingTest, TwoPureStepsOfThreeAreNotFree) {
  const Plan pure{kPatients.neighbours, {{Pure{3}, 2}}};
  Repricing repricing;
  const Repriced told = repricing.of({.plan = pure, .price = {0, 1e-5}, .pricing = 1});
  const double now = std::min(6.0, *epsilon_at(pure, *Delta::make(1e-5)));
  EXPECT_EQ(told.price.epsilon, now);
  EXPECT_EQ(told.too_low, now > 0);
  EXPECT_TRUE(repricing.of({.plan = pure, .price = {5.9, 0}, .pricing = 1}).too_low) << "without delta it is 6";
}

TEST_F(RepricingTest, APriceNobodyCanProveIsWithoutEnd) {
  Repricing repricing;
  const Repriced told =
      repricing.of({.plan = kGaussians, .price = {5, 0}, .pricing = 1});  // no delta covers no Gaussian
  EXPECT_TRUE(told.too_low);
  EXPECT_TRUE(std::isinf(told.price.epsilon));
}

// A look at many runs prices as many plans as differ, so that it takes the time to read them.
TEST_F(RepricingTest, EqualPlansArePricedOnce) {
  Repricing repricing;
  for (int run = 0; run < 500; ++run) {
    EXPECT_TRUE(repricing.of({.plan = kGaussians, .price = {0.01, 1e-6}}).too_low);
    EXPECT_FALSE(repricing.of({.plan = kGaussians, .price = {50, 1e-6}}).too_low);
  }
  EXPECT_EQ(repricing.priced(), 1u);
  repricing.of({.plan = kGaussians, .price = {0.01, 2e-6}});
  EXPECT_EQ(repricing.priced(), 2u) << "another delta is another price";
}

TEST_F(RepricingTest, AnEntrySaysHowItWasPriced) {
  allow(1.0);
  {
    Ledger ledger = std::move(*Ledger::open(folder_.path()));
    ASSERT_TRUE(ledger.charge_plan(kPatients, {.run = "a", .key = "plan", .step = {{Pure{0.1}, 1}}, .delta = kDelta}));
  }
  const Entry entry = Ledger::open_read_only(folder_.path())->entries()->back();
  EXPECT_EQ(parse_charged_plan(entry.content)->pricing, kPricing);
  EXPECT_EQ(parse_charged_plan(to_json(ChargedPlan{.plan = kGaussians, .pricing = 1}, 1, 1))->pricing, 1);
  EXPECT_FALSE(parse_charged_plan(
      R"({"events":[],"neighbours":"replace-one","epsilon":1,"delta":0,"steps":1,"of":1,"pricing":"2"})"));
}
