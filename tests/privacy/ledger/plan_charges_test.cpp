// Whole plans in the ledger, under the conditions that lose money elsewhere.
// labels: threads
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>

#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/ledger/entry_text.h"
#include "parley/privacy/ledger/ledger.h"
#include "parley/privacy/ledger/standing.h"
#include "tests/privacy/ledger/processes.h"
#include "tests/privacy/with_ledger.h"

using namespace parley;
using namespace parley::privacy;
namespace fs = std::filesystem;

namespace {

const Delta kDelta = *Delta::make(1e-6);

// One step costs epsilon exactly: pure, so nothing has to be searched for.
PlanRequest request(const std::string& run, double epsilon, std::int64_t steps) {
  return {.run = run, .key = "plan", .step = {{Pure{epsilon}, 1}}, .steps = steps, .delta = kDelta};
}

class PlanChargesTest : public ::testing::Test {
 protected:
  Ledger opened() { return std::move(*Ledger::open(folder_.path())); }
  void allow(double epsilon) {
    Ledger ledger = opened();
    ASSERT_TRUE(ledger.set_budget(kPatients, {*Epsilon::make(epsilon), kDelta, Composition::kPlans}));
  }
  TemporaryFolder folder_;
};

}  // namespace

TEST_F(PlanChargesTest, ProcessesTogetherNeverOverspend) {
  allow(1.0);
  const int steps = added_up(3, [&](int p) {
    auto ledger = Ledger::open(folder_.path());
    int own = 0;
    for (int i = 0; ledger && i < 10; ++i)
      if (const auto receipt =
              ledger->charge_plan(kPatients, request(std::to_string(p) + "/" + std::to_string(i), 0.02, 4)))
        own += static_cast<int>(receipt->steps);
    return own;
  });
  Ledger ledger = opened();
  EXPECT_TRUE(ledger.verify());
  EXPECT_LE(ledger.spent(kPatients)->epsilon, 1.0);
  // 50 steps of 0.02, or one less where sums were rounded up.
  EXPECT_GE(steps, 49);
  EXPECT_LE(steps, 50);
}

// The head that was seen is compared with a record that another process may have moved on since: nobody is taken for an
// older copy.
TEST_F(PlanChargesTest, ALedgerThatOthersChargeCanBeOpened) {
  allow(1e6);
  const int refused = added_up(3, [&](int p) {
    int own = 0;
    for (int i = 0; i < 40; ++i) {
      auto ledger = Ledger::open(folder_.path());
      if (!ledger || !ledger->charge_plan(kPatients, request(std::to_string(p) + "/" + std::to_string(i), 0.02, 1)))
        ++own;
    }
    return own;
  });
  EXPECT_EQ(refused, 0);
}

TEST_F(PlanChargesTest, SurviveKillAtAnyPoint) {
  allow(1000);
  std::int64_t said = 0;
  for (int trial = 0; trial < 8; ++trial) {
    said += said_until_killed(folder_.path(), trial + 1, [&](Ledger& ledger, int i) {
      return ledger.charge_plan(kPatients, request(std::to_string(trial) + "/" + std::to_string(i), 1e-3, 3))
          .has_value();
    });
    EXPECT_GT(said, trial);
    Ledger ledger = opened();
    ASSERT_TRUE(ledger.verify());
    EXPECT_GE(ledger.spent(kPatients)->charges, said) << "a plan that was drawn from is in the ledger";
  }
}

TEST_F(PlanChargesTest, AFullDiskChargesNothingAndLosesNothing) {
  allow(1000);
  const int paid = charged_until_full(folder_.path(), [](Ledger& ledger, int i) {
    return ledger.charge_plan(kPatients, request(std::string(4000, 'r') + std::to_string(i), 0.1, 2)).has_value();
  });
  ASSERT_GE(paid, 0);
  ASSERT_LT(paid, 99) << "the limit never struck";
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.verify());
  EXPECT_EQ(ledger.spent(kPatients)->charges, paid);
  EXPECT_TRUE(ledger.charge_plan(kPatients, request("later", 0.1, 1)));
}

TEST_F(PlanChargesTest, RefuseWhatIsNoPlan) {
  allow(1.0);
  Ledger ledger = opened();
  EXPECT_FALSE(ledger.charge_plan(kPatients, request("a", std::nan(""), 1)));
  EXPECT_FALSE(ledger.charge_plan(kPatients, request("a", 0.1, 0)));
  EXPECT_FALSE(ledger.charge_plan(kPatients, request("a", 0.1, -3)));
  EXPECT_FALSE(ledger.charge_plan(kPatients, request("a", 0.1, INT64_MAX)));
  EXPECT_FALSE(ledger.charge_plan(kPatients,
                                  {.run = "a", .key = "k", .step = {{Unprotected{}, 1}}, .steps = 1, .delta = kDelta}));
  EXPECT_EQ(ledger.spent(kPatients)->charges, 0);
  ASSERT_TRUE(ledger.charge_plan(kPatients, request("a", 0.1, 1)));
  EXPECT_FALSE(ledger.charge_plan(kPatients, request("a", 0.1, 1))) << "a run and key pay once";
  EXPECT_EQ(ledger.spent(kPatients)->charges, 1);
}

TEST_F(PlanChargesTest, ALoweredBudgetCountsThePlansBefore) {
  allow(1.0);
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.charge_plan(kPatients, request("a", 0.5, 1)));
  ASSERT_TRUE(ledger.set_budget(kPatients, {*Epsilon::make(0.4), kDelta, Composition::kPlans}));
  EXPECT_FALSE(ledger.charge_plan(kPatients, request("b", 0.001, 1)));
  // By steps the same events count through the filter.
  ASSERT_TRUE(ledger.set_budget(kPatients, {*Epsilon::make(0.6), kDelta, Composition::kSteps}));
  EXPECT_EQ(ledger.charge_plan(kPatients, request("c", 0.04, 5))->steps, 2);
}

// The filter shares delta among its rules. What it does not count as within a budget is overspent, though fixed steps
// would cost less.
TEST_F(PlanChargesTest, ABudgetThatDoesNotAdmitThePastIsOverspent) {
  Ledger ledger = opened();
  const Plan plan{kPatients.neighbours, {{Gaussian{20, 1}, 10}}};
  const PlanRequest gaussians{
      .run = "a", .key = "plan", .once = plan.events, .step = {{Pure{1e-9}, 1}}, .steps = 1, .delta = kDelta};
  ASSERT_TRUE(ledger.set_budget(kPatients, {*Epsilon::make(2.0), kDelta, Composition::kSteps}));
  ASSERT_TRUE(ledger.charge_plan(kPatients, gaussians));
  EXPECT_FALSE(ledger.spent(kPatients)->overspent);
  const double fixed = *epsilon_at(plan, kDelta, Accountant::kZcdp);
  ASSERT_TRUE(ledger.set_budget(kPatients, {*Epsilon::make(1.001 * fixed), kDelta, Composition::kSteps}));
  EXPECT_FALSE(ledger.charge_plan(kPatients, request("b", 1e-9, 1)));
  EXPECT_TRUE(ledger.spent(kPatients)->overspent);
}

// A budget by steps asks the filter, and the plan has its price all the same: the run claims it, and a later budget by
// plans counts it.
TEST_F(PlanChargesTest, APlanUnderABudgetByStepsIsNotFree) {
  Ledger ledger = opened();
  const PlanRequest gaussians{.run = "a", .key = "plan", .step = {{Gaussian{20, 1}, 1}}, .steps = 10, .delta = kDelta};
  ASSERT_TRUE(ledger.set_budget(kPatients, {*Epsilon::make(2.0), kDelta, Composition::kSteps}));
  const auto quoted = ledger.quote(kPatients, gaussians);
  const auto receipt = ledger.charge_plan(kPatients, gaussians);
  ASSERT_TRUE(quoted && receipt);
  ASSERT_EQ(receipt->steps, 10);
  const double cost = *epsilon_at(gaussians.plan(kPatients.neighbours, 10), kDelta);
  EXPECT_GE(receipt->epsilon, cost);
  EXPECT_GE(quoted->epsilon, cost);
  EXPECT_GE(ledger.paid_plan(kPatients, "a", "plan")->value().receipt.epsilon, cost);
  ASSERT_TRUE(ledger.set_budget(kPatients, {*Epsilon::make(1.2 * cost), *Delta::make(1e-5), Composition::kPlans}));
  EXPECT_GE(ledger.spent(kPatients)->epsilon, cost);
  PlanRequest again = gaussians;
  again.run = "b";
  EXPECT_LT(ledger.charge_plan(kPatients, again).value_or(PlanReceipt{}).steps, 10);
  EXPECT_TRUE(ledger.verify());
}

// The chain has no secret. A price that does not cover its releases shows in verify(); one of nothing, as earlier
// versions wrote it, counts as the most that it can stand for.
TEST_F(PlanChargesTest, PricesThatAreTooLowAreSeenAndNothingIsNotFree) {
  for (const double stated : {0.001, 0.0}) {
    fs::remove_all(folder_.path());
    allow(3.0);
    const Plan plan{kPatients.neighbours, {{Gaussian{20, 1}, 10}}};
    std::string budget_hash;
    {
      Ledger ledger = opened();
      budget_hash = ledger.entries()->back().hash;
    }
    Entry forged{.number = 2,
                 .time = 1,
                 .kind = "plan",
                 .purse = kPatients,
                 .run = "a",
                 .key = "plan",
                 .content = to_json(ChargedPlan{plan, {stated, stated > 0 ? 1e-6 : 0.0}}, 10, 10)};
    const std::string hash = linked(budget_hash, forged);
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "ledger.sqlite").c_str(), &connection), SQLITE_OK);
    const std::string sql = fmt::format(
        "INSERT INTO entry VALUES (2, 1, 'plan', 'patients', 'record', 'replace-one', 'a', 'plan', '{0}', '{1}');"
        "UPDATE head SET number = 2, hash = '{1}'",
        forged.content, hash);
    ASSERT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(connection);
    sqlite3_close(connection);
    Ledger ledger = opened();
    EXPECT_EQ(ledger.verify().has_value(), stated == 0);
    if (stated == 0) {
      EXPECT_FALSE(ledger.charge_plan(kPatients, request("b", 0.001, 1)));
    }
  }
}

// So much noise that delta alone covers it: epsilon 0 is then its price, and not a price that was left out.
TEST_F(PlanChargesTest, APlanThatCostsDeltaAloneIsCountedAsThat) {
  Ledger ledger = opened();
  ASSERT_TRUE(ledger.set_budget(kPatients, {*Epsilon::make(1.0), *Delta::make(3e-6), Composition::kPlans}));
  for (const char* run : {"a", "b"}) {
    const auto receipt = ledger.charge_plan(
        kPatients, {.run = run, .key = "plan", .step = {{Gaussian{1e7, 1}, 1}}, .steps = 4, .delta = kDelta});
    ASSERT_TRUE(receipt) << receipt.error().message;
    EXPECT_EQ(receipt->epsilon, 0);
    EXPECT_EQ(receipt->delta, 1e-6);
  }
  EXPECT_EQ(ledger.spent(kPatients)->epsilon, 0);
  EXPECT_EQ(ledger.spent(kPatients)->delta, 2e-6);
  EXPECT_TRUE(ledger.verify());
}

TEST_F(PlanChargesTest, ASingleReleaseBetweenPlansMustBePure) {
  allow(1.0);
  Ledger ledger = opened();
  EXPECT_FALSE(ledger.charge(kPatients, {"run", "g", {Gaussian{1e6, 1}, 1}}));
  EXPECT_TRUE(ledger.charge(kPatients, {"run", "p", {Pure{0.9}, 1}}));
  EXPECT_EQ(ledger.charge_plan(kPatients, request("b", 0.04, 5))->steps, 2);
}

TEST(RoundedSums, NeverFallBelowTheTrueSum) {
  EXPECT_EQ(sum_rounded_up(0.0, 0.1), 0.1);
  EXPECT_EQ(sum_rounded_up(0.5, 0.25), 0.75);
  EXPECT_GT(sum_rounded_up(1.0, 1e-300), 1.0);
  double sum = 0;
  long double exact = 0;
  for (int i = 0; i < 1000; ++i) {
    sum = sum_rounded_up(sum, 0.1);
    exact += 0.1;  // as the double it is: long double has room for a thousand of them
  }
  EXPECT_GE(static_cast<long double>(sum), exact);
  EXPECT_NEAR(sum, 100.0, 1e-9);
}
