// labels: threads
#include "parley/privacy/gate.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "parley/privacy/sensitivity/clipped_sum.h"
#include "tests/privacy/with_ledger.h"

using namespace parley;
using namespace parley::privacy;

namespace {

class GateTest : public WithLedger {
 protected:
  void allow(double epsilon) {
    ASSERT_TRUE(ledger_->set_budget(kPatients, {*Epsilon::make(epsilon), *Delta::make(1e-6)}));
  }
  Gate gate(Bits& bits) { return std::move(*Gate::open(*ledger_, kPatients, "run", bits)); }

  static Sensitive<GridVector, L2> sum_l2() { return *clipped_sum_l2(Private(std::vector<double>{1, 1, 1}), rule()); }
  static Sensitive<GridVector, L1> sum_l1() { return *clipped_sum(Private(std::vector<double>{1, 1, 1}), rule()); }
  static Sensitive<GridVector, Linf> scores() {
    return *clipped_scores(Private(Contributions{{0, 1, 0, 0, 1, 0}, 3}), rule());
  }
  static ClipRule rule() { return {.bound = 1.0, .grain = {-10}}; }
};

}  // namespace

TEST_F(GateTest, ChargesWhatTheNoiseCosts) {
  allow(100);
  SeededGenerator bits(1);
  Gate gate = this->gate(bits);
  ASSERT_TRUE(gate.release(sum_l2(), Deviation{4.0}, Keyed{"a"}));
  ASSERT_TRUE(gate.release(sum_l1(), LaplaceScale{2.0}, Keyed{"b"}));
  ASSERT_TRUE(gate.release(scores(), ByExponential{*Epsilon::make(0.5)}, Keyed{"c"}));
  const auto spent = ledger_->spent(kPatients);
  ASSERT_EQ(spent->events.size(), 3U);
  const auto& gaussian = std::get<Gaussian>(spent->events[0].mechanism);
  EXPECT_DOUBLE_EQ(gaussian.sigma / gaussian.sensitivity, 2.0);
  const auto& laplace = std::get<DiscreteLaplace>(spent->events[1].mechanism);
  EXPECT_DOUBLE_EQ(laplace.scale / laplace.sensitivity, 1.0);
  EXPECT_GE(std::get<Exponential>(spent->events[2].mechanism).epsilon, 0.5);
}

TEST_F(GateTest, ARefusedReleaseDrawsNothing) {
  allow(0.1);
  SeededGenerator bits(1);
  SeededGenerator untouched(1);
  Gate gate = this->gate(bits);
  const auto refused = gate.release(sum_l1(), LaplaceScale{0.5}, Keyed{"too much"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kBudgetEnded);
  EXPECT_EQ(bits.next_u64(), untouched.next_u64());
}

TEST_F(GateTest, AReleaseIsInTheLedgerOnDiskBeforeItIsSeen) {
  allow(100);
  SeededGenerator bits(1);
  Gate gate = this->gate(bits);
  ASSERT_TRUE(gate.release(sum_l2(), Deviation{4.0}, Keyed{"a"}));
  auto other = Ledger::open_read_only(folder_.path());  // another reader sees the file, not our memory
  ASSERT_TRUE(other);
  EXPECT_EQ(other->spent(kPatients)->charges, 1);
}

TEST_F(GateTest, ARepeatedKeyGetsNoFreshNoise) {
  allow(100);
  SeededGenerator bits(1);
  Gate gate = this->gate(bits);
  ASSERT_TRUE(gate.release(sum_l2(), Deviation{4.0}, Keyed{"round 1"}));
  EXPECT_FALSE(gate.release(sum_l2(), Deviation{4.0}, Keyed{"round 1"}));
  EXPECT_EQ(ledger_->spent(kPatients)->charges, 1);
}

TEST_F(GateTest, ASeedVoidsTheClaimInTheValueAndInTheLedger) {
  allow(100);
  SeededGenerator seeded(1);
  Gate simulated = gate(seeded);
  EXPECT_FALSE(simulated.release(sum_l2(), Deviation{4.0}, Keyed{"a"})->claimed());
  EXPECT_EQ(ledger_->entries()->back().kind, "void-charge");
  auto secure = SecureGenerator::from_system();
  ASSERT_TRUE(secure);
  Gate real = gate(**secure);
  EXPECT_TRUE(real.release(sum_l2(), Deviation{4.0}, Keyed{"b"})->claimed());
  EXPECT_EQ(ledger_->entries()->back().kind, "charge");
}

TEST_F(GateTest, BoundsOfAnotherRelationAreNotPaidFromThisPurse) {
  allow(100);
  SeededGenerator bits(1);
  Gate gate = this->gate(bits);
  ClipRule added = rule();
  added.neighbours = Neighbours::kAddRemove;
  EXPECT_FALSE(gate.release(*clipped_sum_l2(Private(std::vector<double>{1}), added), Deviation{4.0}, Keyed{"a"}));
  ClipRule labels = rule();
  labels.unit = Unit::kLabel;
  EXPECT_FALSE(gate.release(*clipped_sum_l2(Private(std::vector<double>{1}), labels), Deviation{4.0}, Keyed{"a"}));
  EXPECT_EQ(ledger_->spent(kPatients)->charges, 0);
}

TEST_F(GateTest, RefusesNoiseThatIsNone) {
  allow(100);
  SeededGenerator bits(1);
  Gate gate = this->gate(bits);
  for (const double bad : {0.0, -1.0, std::nan(""), static_cast<double>(INFINITY)}) {
    EXPECT_FALSE(gate.release(sum_l2(), Deviation{bad}, Keyed{"a"}));
    EXPECT_FALSE(gate.release(sum_l1(), LaplaceScale{bad}, Keyed{"a"}));
  }
  EXPECT_EQ(ledger_->spent(kPatients)->charges, 0);
}

TEST_F(GateTest, ReleasedValuesLieOnTheGrid) {
  allow(1e6);
  SeededGenerator bits(1);
  Gate gate = this->gate(bits);
  for (int i = 0; i < 100; ++i) {
    const double value = gate.release(sum_l2(), Deviation{4.0}, Keyed{std::to_string(i)})->value()[0];
    EXPECT_EQ(std::ldexp(value, 10), std::nearbyint(std::ldexp(value, 10)));
  }
}

TEST_F(GateTest, SelectionPrefersTheLargestScoreWhenEpsilonIsLarge) {
  allow(1e6);
  SeededGenerator bits(1);
  Gate gate = this->gate(bits);
  int best = 0;
  for (int i = 0; i < 50; ++i)
    best += gate.release(scores(), ByExponential{*Epsilon::make(200)}, Keyed{std::to_string(i)})->value() == 1 ? 1 : 0;
  EXPECT_EQ(best, 50);
}

namespace {
bool broken = false;
bool sometimes(std::span<unsigned char> bytes) {
  return !broken && system_entropy(bytes);
}
}  // namespace

// A forked child must rekey; when the system then has no entropy to give, nothing is released.
TEST_F(GateTest, NoRandomnessMeansNoReleaseAndNoFallback) {
  allow(100);
  auto secure = SecureGenerator::from_system(&sometimes);
  ASSERT_TRUE(secure);
  Gate gate = this->gate(**secure);
  ASSERT_TRUE(gate.release(sum_l2(), Deviation{4.0}, Keyed{"a"}));
  const pid_t child = ::fork();
  if (child == 0) {
    broken = true;
    auto ledger = Ledger::open(folder_.path());
    if (!ledger) ::_exit(3);
    auto inside = Gate::open(*ledger, kPatients, "child", **secure);
    ::_exit(inside->release(sum_l2(), Deviation{4.0}, Keyed{"b"}) ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(GateTest, ARunNeedsAName) {
  SeededGenerator bits(1);
  EXPECT_FALSE(Gate::open(*ledger_, kPatients, "", bits));
}
