// Releases that are paid for by plan, and what a ledger holds of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "parley/privacy/accounting/step_noise.h"
#include "parley/privacy/gate.h"
#include "parley/privacy/paid_runs.h"
#include "parley/privacy/score_board.h"
#include "parley/privacy/sensitivity/batch_sum.h"
#include "parley/privacy/sensitivity/clipped_sum.h"
#include "parley/privacy/sensitivity/exact_sums.h"
#include "tests/privacy/with_ledger.h"

using namespace parley;
using namespace parley::privacy;
using linalg::Index;
using linalg::Matrix;

namespace {

const Target kTarget{*Epsilon::make(1.0), *Delta::make(1e-6), Neighbours::kReplaceOne};

class GatePlanTest : public WithLedger {
 protected:
  void SetUp() override {
    std::vector<double> table(kRows * kCols, 0.0);
    for (std::size_t at = 0; at < table.size(); at += 3) table[at] = 1;
    features_.emplace(*GridFeatures::make(Matrix::from_dense(kRows, kCols, table), std::vector<double>(kCols, 1.0)));
    sums_.emplace(*ExactSums::make(*features_, {}));
    sums_->assign(std::vector<double>(kRows, 0.5));
  }
  void allow(double epsilon, double delta = 1e-6, Composition composition = Composition::kPlans) {
    ASSERT_TRUE(ledger_->set_budget(kPatients, {*Epsilon::make(epsilon), *Delta::make(delta), composition}));
  }
  Gate gate(Bits& bits, const std::string& run = "run") {
    return std::move(*Gate::open(*ledger_, kPatients, run, bits));
  }
  StepNoise noise(std::int64_t steps, const Target& target = kTarget) {
    return *step_noise(target, {.steps = steps,
                                .share = 0.5,
                                .value_sensitivity = ExactSums::value_grain().grains(sums_->value_sensitivity())});
  }
  Deviation deviation(const StepNoise& noise) const {
    return {std::ldexp(noise.value_sigma, ExactSums::value_grain().exponent)};
  }

  static constexpr Index kRows = 40, kCols = 8;
  std::optional<GridFeatures> features_;
  std::optional<ExactSums> sums_;
};

}  // namespace

TEST_F(GatePlanTest, ARunCalibratedToTheWholeBudgetFitsIt) {
  allow(1.0);
  SeededGenerator bits(1);
  for (const std::int64_t steps : {1, 7, 200}) {
    ASSERT_TRUE(ledger_->set_budget(kPatients, {*Epsilon::make(1.0), *Delta::make(1e-6), Composition::kPlans}));
    const StepNoise planned = noise(steps);
    Purse fresh = kPatients;
    fresh.data_set = "patients " + std::to_string(steps);
    ASSERT_TRUE(ledger_->set_budget(fresh, {kTarget.epsilon, kTarget.delta, Composition::kPlans}));
    Gate gate = std::move(*Gate::open(*ledger_, fresh, "run", bits));
    const auto reserved = gate.reserve({.step = planned.step, .steps = steps}, kTarget.delta);
    ASSERT_TRUE(reserved) << reserved.error().message;
    EXPECT_EQ(*reserved, steps);
    EXPECT_GT(ledger_->spent(fresh)->epsilon, 0.99);
    EXPECT_LE(ledger_->spent(fresh)->epsilon, 1.0);
  }
}

TEST_F(GatePlanTest, DrawsCountAgainstThePlanAndEndWithIt) {
  allow(1.0);
  SeededGenerator bits(1);
  Gate gate = this->gate(bits);
  EXPECT_FALSE(gate.release(sums_->value<L2>(0), Deviation{1.0})) << "nothing was reserved";
  const StepNoise planned = noise(3);
  ASSERT_EQ(*gate.reserve({.step = planned.step, .steps = 3}, kTarget.delta), 3);
  for (int t = 0; t < 3; ++t) {
    ASSERT_TRUE(gate.release(sums_->scores(VertexRule{}), ByExponential{*Epsilon::make(planned.selection_epsilon)}));
    ASSERT_TRUE(gate.release(sums_->value<L2>(0), deviation(planned)));
  }
  const auto beyond = gate.release(sums_->value<L2>(0), deviation(planned));
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().fault, Fault::kBudgetEnded);
  EXPECT_FALSE(gate.release(sums_->value<L2>(0), Deviation{0.5 * deviation(planned).sigma}))
      << "not a mechanism of the plan";
  EXPECT_EQ(gate.releases(), 6);
  EXPECT_EQ(ledger_->spent(kPatients)->charges, 1) << "one durable charge for the whole plan";
}

TEST_F(GatePlanTest, TheLongestPrefixThatFitsIsCharged) {
  allow(0.5);
  SeededGenerator bits(1);
  const StepNoise planned = noise(100);
  Gate gate = this->gate(bits);
  const auto steps = gate.reserve({.step = planned.step, .steps = 100}, kTarget.delta);
  ASSERT_TRUE(steps);
  EXPECT_GT(*steps, 10);
  EXPECT_LT(*steps, 60);
  const PlanRequest request{.run = "", .key = "", .step = planned.step, .steps = 100, .delta = kTarget.delta};
  EXPECT_LE(*epsilon_at(request.plan(kPatients.neighbours, *steps), kTarget.delta), 0.5);
  EXPECT_GT(*epsilon_at(request.plan(kPatients.neighbours, *steps + 1), kTarget.delta), 0.5);
  Gate next = this->gate(bits, "next");
  const auto refused = next.reserve({.step = planned.step, .steps = 100}, kTarget.delta);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kBudgetEnded);
}

TEST_F(GatePlanTest, PlansOfSeveralRunsAddUpInEpsilonAndDelta) {
  allow(1.0, 2e-6);
  SeededGenerator bits(1);
  const Target half{*Epsilon::make(0.4), *Delta::make(1e-6), Neighbours::kReplaceOne};
  const StepNoise planned = noise(20, half);
  for (const char* run : {"first", "second"}) {
    Gate gate = this->gate(bits, run);
    ASSERT_EQ(*gate.reserve({.step = planned.step, .steps = 20}, half.delta), 20);
  }
  const auto spent = ledger_->spent(kPatients);
  EXPECT_NEAR(spent->epsilon, 0.8, 0.01);
  EXPECT_DOUBLE_EQ(spent->delta, 2e-6);
  // Epsilon is left, delta is not: only what is pure still fits.
  Gate third = this->gate(bits, "third");
  const auto refused = third.reserve({.step = {{Gaussian{1e9, 1}, 1}}, .steps = 1}, half.delta);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kBudgetEnded);
  EXPECT_TRUE(third.reserve({.step = {{Exponential{0.01}, 1}}, .steps = 1}, half.delta));
}

TEST_F(GatePlanTest, AReplayedTranscriptGivesTheSameValuesWhateverTheData) {
  allow(1.0);
  SeededGenerator bits(5);
  const StepNoise planned = noise(4);
  const auto run = [&](Gate& gate, ExactSums& sums) {
    std::vector<double> seen;
    EXPECT_TRUE(gate.reserve({.step = planned.step, .steps = 4}, kTarget.delta));
    for (int t = 0; t < 4; ++t) {
      const std::size_t index =
          gate.release(sums.scores(VertexRule{}), ByExponential{*Epsilon::make(planned.selection_epsilon)})->value();
      seen.push_back(static_cast<double>(index));
      seen.push_back(gate.release(sums.value<L2>(index / 2), deviation(planned))->value());
    }
    return seen;
  };
  Gate gate = this->gate(bits);
  gate.keep_transcript();
  const auto first = run(gate, *sums_);
  EXPECT_EQ(gate.transcript(), first);
  ExactSums nothing = *ExactSums::make(*features_, {});
  Gate again = Gate::replay(gate.transcript(), kPatients);
  EXPECT_EQ(run(again, nothing), first);
  EXPECT_FALSE(again.claims_valid());
  EXPECT_FALSE(again.release(nothing.value<L2>(0), deviation(planned))) << "plan and transcript have ended";
}

TEST_F(GatePlanTest, NoiseFromASeedIsWrittenDownAsVoid) {
  allow(1.0);
  SeededGenerator seeded(1);
  auto secure = *SecureGenerator::from_system();
  const StepNoise planned = noise(5, {*Epsilon::make(0.3), *Delta::make(1e-7), Neighbours::kReplaceOne});
  Gate simulated = this->gate(seeded, "simulated");
  Gate real = this->gate(*secure, "real");
  ASSERT_TRUE(simulated.reserve({.step = planned.step, .steps = 5}, *Delta::make(1e-7)));
  ASSERT_TRUE(real.reserve({.step = planned.step, .steps = 5}, *Delta::make(1e-7)));
  const auto entries = *ledger_->entries();
  EXPECT_EQ(entries[1].kind, "void-plan");
  EXPECT_EQ(entries[2].kind, "plan");
  EXPECT_FALSE(simulated.release(sums_->value<L2>(0), deviation(planned))->claimed());
  EXPECT_TRUE(real.release(sums_->value<L2>(0), deviation(planned))->claimed());
  ASSERT_TRUE(ledger_->verify());
}

TEST_F(GatePlanTest, ABoardSelectsTheLikelyCandidateAndRefusesLooserScores) {
  allow(200);
  SeededGenerator bits(1);
  Gate gate = this->gate(bits);
  ASSERT_TRUE(gate.reserve({.step = {{Exponential{40.0}, 1}}, .steps = 3}, kTarget.delta));
  sums_->assign_row(0, -0.9);
  const VertexRule rule;
  const std::size_t candidates = 2 * sums_->coordinates();
  ScoreBoard board = *ScoreBoard::open(gate, {*Epsilon::make(40.0), sums_->score_sensitivity(rule)}, candidates);
  EXPECT_FALSE(board.select()) << "no score was set";
  const std::vector<double> scores = Gate::in_the_clear(sums_->scores(rule), Unprotected{}).value();
  for (std::size_t v = 0; v < candidates; ++v) ASSERT_TRUE(board.set(v, sums_->score(rule, v)));
  for (int t = 0; t < 3; ++t) EXPECT_GT(scores[board.select()->value()], 0);
  EXPECT_FALSE(board.select()) << "the plan has ended";
  const std::vector<double> huge(sums_->coordinates(), 1e15);
  EXPECT_FALSE(board.set(0, sums_->score(VertexRule{huge}, 0)));
}

TEST_F(GatePlanTest, ASampledSumCostsASampledGaussian) {
  allow(3.0);
  SeededGenerator bits(1);
  Gate gate = this->gate(bits);
  BatchSum sum = *BatchSum::make(*features_, {.norm_bound = 1});
  const double sigma = 4.0;
  const SubsampledGaussian event{sigma / sum.contribution(), 0.25};
  ASSERT_TRUE(gate.reserve({.step = {{event, 1}}, .steps = 2}, kTarget.delta));
  const PoissonSampling sampling = *PoissonSampling::make(0.25);
  for (int t = 0; t < 2; ++t) {
    Batch batch = *gate.sample(sampling, kRows);
    const std::vector<double> derivatives(batch.records().size(), 0.5);
    const auto released = gate.release(sum.sum(std::move(batch), derivatives), Deviation{sigma});
    ASSERT_TRUE(released) << released.error().message;
    EXPECT_EQ(released->value().size(), static_cast<std::size_t>(kCols));
  }
  Batch batch = *gate.sample(sampling, kRows);
  const std::vector<double> derivatives(batch.records().size(), 0.5);
  EXPECT_FALSE(gate.release(sum.sum(std::move(batch), derivatives), Deviation{sigma}));
}

// Another sampled Gaussian is another sample: the same records cannot be summed, nor a sum released, a second time.
TEST_F(GatePlanTest, ASampleAndItsSumAreUsedUp) {
  allow(1e3, 1e-3);
  SeededGenerator bits(1);
  Gate gate = this->gate(bits);
  BatchSum sum = *BatchSum::make(*features_, {.norm_bound = 1});
  const double sigma = 4.0;
  ASSERT_TRUE(
      gate.reserve({.step = {{SubsampledGaussian{sigma / sum.contribution(), 0.9}, 1}}, .steps = 3}, kTarget.delta));
  Batch batch = *gate.sample(*PoissonSampling::make(0.9), kRows);
  ASSERT_FALSE(batch.records().empty());
  const std::vector<double> derivatives(batch.records().size(), 0.5);
  auto once = sum.sum(std::move(batch), derivatives);
  EXPECT_TRUE(batch.records().empty());  // NOLINT(bugprone-use-after-move): that is the point
  ASSERT_TRUE(gate.release(std::move(once), Deviation{sigma}));
  EXPECT_TRUE(gate.release(std::move(once), Deviation{sigma})->value().empty());  // NOLINT(bugprone-use-after-move)
}

TEST_F(GatePlanTest, AGateWithoutRandomnessRefusesToSample) {
  Gate open = Gate::without_privacy(Unprotected{});
  Gate rehearsal = Gate::rehearsal(kPatients);
  for (Gate* gate : {&open, &rehearsal}) EXPECT_FALSE(gate->sample(*PoissonSampling::make(0.5), kRows));
}

Released<double> first_of(const Released<std::vector<double>>& released) {
  return derive([](const std::vector<double>& values) { return values.front(); }, released);
}

// Runs that are paid for together: as many as were drawn, each with its plan once, and nothing before the charge.
TEST_F(GatePlanTest, TheBestOfManyRunsIsChargedOnceAndHandsOutTheRunsThatWereDrawn) {
  allow(3.0);
  SeededGenerator bits(5);
  Gate gate = this->gate(bits);
  const RandomRepetitions repetitions = *RandomRepetitions::make(3);
  const ClipRule rule{.bound = 1.0, .grain = {-10}};
  const auto value = *clipped_sum_l2(Private(std::vector<double>{1, 1, 1}), rule);
  const auto event = [&](double sigma) {
    return *Gate::gaussian_event(value.sensitivity(), rule.grain, Deviation{sigma});
  };
  const std::vector<Plan> plans = {{kPatients.neighbours, {event(40)}}, {kPatients.neighbours, {event(60)}}};
  const Plan score{kPatients.neighbours, {event(50)}};
  auto runs = gate.reserve_best_of(repetitions, plans, score, kTarget.delta);
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(ledger_->entries()->size(), 2U);  // the budget and one plan
  std::vector<Plan> all = plans;
  all.push_back(score);
  EXPECT_GE(ledger_->spent(kPatients)->epsilon, *repetitions.epsilon_at(all, kTarget.delta));
  using Scored = PaidRuns::Scored<double>;
  std::vector<double> scores;
  const auto once = [&](PaidRuns::Run& run) -> Result<Scored> {
    const double sigma = run.setting == 0 ? 40 : 60;
    EXPECT_FALSE(run.training.reserve({.step = {event(100 - sigma)}}, kTarget.delta)) << "another setting's plan";
    EXPECT_TRUE(run.training.reserve({.step = {event(sigma)}}, kTarget.delta));
    EXPECT_TRUE(run.training.release(value, Deviation{sigma}));
    EXPECT_FALSE(run.training.release(value, Deviation{sigma})) << "twice";
    EXPECT_TRUE(run.scoring.reserve({.step = {event(50)}}, kTarget.delta));
    const auto released = run.scoring.release(value, Deviation{50});
    EXPECT_FALSE(released->claimed()) << "the noise came from a seed";
    scores.push_back(released->value().front());
    return Scored{scores.back(), first_of(*released)};
  };
  const auto best = std::move(*runs).best<double>(once);
  ASSERT_TRUE(best);
  EXPECT_EQ(*best, *std::max_element(scores.begin(), scores.end()));
  EXPECT_FALSE(std::move(*runs).best<double>(once))
      << "a second time";  // NOLINT(bugprone-use-after-move): that is the point
  allow(0.001);
  Gate poor = this->gate(bits, "poor");
  EXPECT_FALSE(poor.reserve_best_of(repetitions, plans, score, kTarget.delta));
}

TEST_F(GatePlanTest, NoiseThatCannotBeDrawnIsNotPaidFor) {
  allow(1e9, 1e-3);
  SeededGenerator bits(8);
  Gate gate = this->gate(bits);
  for (const double sigma : {0x1p41, 0x1p-21}) {
    EXPECT_FALSE(gate.reserve({.step = {{Gaussian{sigma, 1}, 1}}}, kTarget.delta));
    EXPECT_FALSE(
        gate.reserve({.once = {{DiscreteLaplace{sigma, 1, 1}, 1}}, .step = {{Gaussian{1, 1}, 1}}}, kTarget.delta));
  }
  EXPECT_EQ(ledger_->entries()->size(), 1U) << "the budget alone";
}

// Two lists of runs, each with its best, would be two releases for one price.
TEST_F(GatePlanTest, PaidRunsComeOutOnceHoweverTheyEnd) {
  allow(1e9, 1e-3);
  SeededGenerator bits(7);
  Gate gate = this->gate(bits);
  const ClipRule rule{.bound = 1.0, .grain = {-10}};
  const auto value = *clipped_sum_l2(Private(std::vector<double>{1, 1, 1}), rule);
  const Plan plan{kPatients.neighbours, {*Gate::gaussian_event(value.sensitivity(), rule.grain, Deviation{50})}};
  const auto paid = [&] { return *gate.reserve_best_of(*RandomRepetitions::make(200), {plan}, plan, kTarget.delta); };
  using Scored = PaidRuns::Scored<int>;
  const auto well = [&](PaidRuns::Run& run) -> Result<Scored> {
    EXPECT_TRUE(run.scoring.reserve({.step = plan.events}, kTarget.delta));
    return Scored{0, first_of(*run.scoring.release(value, Deviation{50}))};
  };
  const auto failing = [](PaidRuns::Run&) -> Result<Scored> { return fail(failed("")); };
  PaidRuns runs = paid();
  EXPECT_FALSE(std::move(runs).best<int>(failing));
  EXPECT_FALSE(std::move(runs).best<int>(well))
      << "after a failure";  // NOLINT(bugprone-use-after-move): that is the point
  PaidRuns stopped = paid();
  int done = 0;
  EXPECT_FALSE(std::move(stopped).best<int>([&](PaidRuns::Run& run) -> Result<Scored> {
    auto scored = well(run);
    scored->interrupted = ++done == 2;
    return scored;
  })) << "the best of two of them was not paid for";
  EXPECT_EQ(done, 2);
  PaidRuns inside = paid();
  int also = 0;
  EXPECT_TRUE(std::move(inside).best<int>([&](PaidRuns::Run& run) -> Result<Scored> {
    also += std::move(inside).best<int>(well).has_value() ? 1 : 0;  // NOLINT(bugprone-use-after-move)
    return well(run);
  }));
  EXPECT_EQ(also, 0) << "in the midst of themselves";
  PaidRuns from = paid();
  PaidRuns to = std::move(from);
  EXPECT_TRUE(std::move(to).best<int>(well));
  EXPECT_FALSE(std::move(from).best<int>(well)) << "where they were before";  // NOLINT(bugprone-use-after-move)
}

// The theorem is about settings that are drawn without the data, and about runs that are independent.
TEST_F(GatePlanTest, PaidRunsDrawTheirSettingsUniformlyAndShareNoSample) {
  allow(1e9, 1e-3);
  SeededGenerator bits(6);
  Gate gate = this->gate(bits);
  const RandomRepetitions repetitions = *RandomRepetitions::make(200);
  const ClipRule rule{.bound = 1.0, .grain = {-10}};
  const auto value = *clipped_sum_l2(Private(std::vector<double>{1, 1, 1}), rule);
  const Plan plan{kPatients.neighbours, {*Gate::gaussian_event(value.sensitivity(), rule.grain, Deviation{50})}};
  std::vector<double> drawn(4, 0.0);
  std::set<std::vector<std::size_t>> samples;
  double runs_done = 0;
  using Scored = PaidRuns::Scored<int>;
  const auto once = [&](PaidRuns::Run& run) -> Result<Scored> {
    drawn[run.setting] += 1;
    runs_done += 1;
    const Batch batch = *run.training.sample(*PoissonSampling::make(0.5), 64);
    samples.insert({batch.records().begin(), batch.records().end()});
    EXPECT_TRUE(run.scoring.reserve({.step = plan.events}, kTarget.delta));
    return Scored{0, first_of(*run.scoring.release(value, Deviation{50}))};
  };
  while (runs_done < 500) {
    auto runs = gate.reserve_best_of(repetitions, std::vector<Plan>(4, plan), plan, kTarget.delta);
    ASSERT_TRUE(runs) << runs.error().message;
    ASSERT_TRUE(std::move(*runs).best<int>(once));
  }
  EXPECT_EQ(static_cast<double>(samples.size()), runs_done);
  // Each count is within six deviations of a quarter: a false alarm in fewer than one of 1e8 seeds, and the seed is
  // fixed.
  for (const double count : drawn) EXPECT_NEAR(count, runs_done / 4, 6 * std::sqrt(runs_done * 3 / 16));
}

TEST_F(GatePlanTest, ASampledSumIsRightByRowsAndByPasses) {
  // A batch of a tenth is summed row by row, the whole in one pass. The same seed gives the same noise: what is left
  // without the exact sum must be equal.
  allow(1e3, 1e-3);
  const auto noise_at = [&](double rate) {
    SeededGenerator bits(3);
    Gate gate = this->gate(bits, rate < 1 ? "rows" : "pass");
    BatchSum sum = *BatchSum::make(*features_, {.constant = true});
    const double sigma = 4 * sum.contribution();
    EXPECT_TRUE(
        gate.reserve({.step = {{SubsampledGaussian{sigma / sum.contribution(), rate}, 1}}, .steps = 1}, kTarget.delta));
    Batch batch = *gate.sample(*PoissonSampling::make(rate), kRows);
    std::vector<double> left(kCols + 1, 0.0);
    for (const std::size_t record : batch.records()) {
      for (Index j = 0; j < kCols; ++j)
        left[static_cast<std::size_t>(j)] -= 0.25 * features_->matrix().at(static_cast<Index>(record), j);
      left[kCols] -= 0.25;
    }
    const std::vector<double> derivatives(batch.records().size(), 0.25);
    const auto told = gate.release(sum.sum(std::move(batch), derivatives), Deviation{sigma});
    EXPECT_TRUE(told) << told.error().message;
    for (std::size_t c = 0; told && c < left.size(); ++c) left[c] += told->value()[c];
    return left;
  };
  const std::vector<double> by_rows = noise_at(0.1), by_pass = noise_at(1);
  for (std::size_t c = 0; c < by_rows.size(); ++c) EXPECT_NEAR(by_rows[c], by_pass[c], 1e-9);
}

TEST_F(GatePlanTest, NoiseDoesNotDecideWhoJoins) {
  allow(1.0);
  const auto batches = [&](bool noise) {
    SeededGenerator bits(9);
    Gate gate = this->gate(bits, noise ? "noisy" : "quiet");
    const PoissonSampling sampling = *PoissonSampling::make(0.3);
    std::vector<std::vector<std::size_t>> seen;
    for (int step = 0; step < 3; ++step) {
      const Batch batch = *gate.sample(sampling, kRows);
      seen.emplace_back(batch.records().begin(), batch.records().end());
      if (noise) bits.next_u64();
    }
    return seen;
  };
  EXPECT_EQ(batches(true), batches(false));
}

// A site that is started again (ledger/resuming.md).
TEST_F(GatePlanTest, AResumedRunIsNotChargedAgainAndHasWhatWasLeft) {
  allow(1.0);
  SeededGenerator bits(1);
  const StepNoise planned = noise(3);
  const Reservation reservation{.step = planned.step, .steps = 3};
  Progress kept;
  {
    Gate gate = this->gate(bits);
    ASSERT_EQ(*gate.reserve(reservation, kTarget.delta), 3);
    ASSERT_TRUE(gate.release(sums_->value<L2>(0), deviation(planned)));
    kept = gate.progress();
    EXPECT_EQ(kept.plans, 1);
  }
  EXPECT_FALSE(gate(bits).reserve(reservation, kTarget.delta)) << "who does not say that it was here before is refused";
  Gate again = std::move(*Gate::resume(*ledger_, kPatients, "run", bits, kept, AnswersAreMarked{}));
  EXPECT_EQ(again.progress().left, kept.left) << "before it reserves, what was kept stands";
  ASSERT_EQ(*again.reserve(reservation, kTarget.delta), 3);
  EXPECT_EQ(again.progress().left, kept.left);
  for (int t = 1; t < 3; ++t) ASSERT_TRUE(again.release(sums_->value<L2>(0), deviation(planned)));
  EXPECT_FALSE(again.release(sums_->value<L2>(0), deviation(planned))) << "three were paid for";
  EXPECT_EQ(again.releases(), 3);
  EXPECT_EQ(ledger_->spent(kPatients)->charges, 1);
}

TEST_F(GatePlanTest, AResumedRunDrawsFromNoPlanButItsOwn) {
  allow(1.0);
  SeededGenerator bits(1);
  const StepNoise planned = noise(3);
  ASSERT_TRUE(gate(bits).reserve({.step = planned.step, .steps = 3}, kTarget.delta));
  Gate other = std::move(*Gate::resume(*ledger_, kPatients, "run", bits, {}, AnswersAreMarked{}));
  EXPECT_FALSE(other.reserve({.step = noise(4).step, .steps = 3}, kTarget.delta)) << "less noise than was paid for";
  const auto secure = SecureGenerator::from_system();
  Gate claims = std::move(*Gate::resume(*ledger_, kPatients, "run", **secure, {}, AnswersAreMarked{}));
  EXPECT_FALSE(claims.reserve({.step = planned.step, .steps = 3}, kTarget.delta)) << "charged as void";
  Gate unknown = std::move(
      *Gate::resume(*ledger_, kPatients, "elsewhere", bits, {.plans = 1, .left = {1, 1}}, AnswersAreMarked{}));
  EXPECT_FALSE(unknown.reserve({.step = planned.step, .steps = 3}, kTarget.delta)) << "this ledger never held it";
  Gate more =
      std::move(*Gate::resume(*ledger_, kPatients, "run", bits, {.plans = 1, .left = {4, 4}}, AnswersAreMarked{}));
  EXPECT_FALSE(more.reserve({.step = planned.step, .steps = 3}, kTarget.delta)) << "more left than there was";
  EXPECT_EQ(ledger_->spent(kPatients)->charges, 1);
}

TEST_F(GatePlanTest, ARoundThatIsBegunAgainRepeatsItsNoiseWithASeedAndOnlyThen) {
  allow(1.0);
  const StepNoise planned = noise(4);
  const auto drawn = [&](Bits& bits, const std::string& run, std::initializer_list<int> rounds) {
    Gate gate = this->gate(bits, run);
    EXPECT_TRUE(gate.reserve({.step = planned.step, .steps = 4}, *Delta::make(1e-7)));
    std::vector<double> values;
    for (const int round : rounds) {
      EXPECT_TRUE(gate.begin_round(round));
      values.push_back(gate.release(sums_->value<L2>(0), deviation(planned))->value());
    }
    return values;
  };
  ASSERT_TRUE(ledger_->set_budget(kPatients, {*Epsilon::make(100), *Delta::make(1e-3), Composition::kPlans}));
  SeededGenerator one(5), two(5);
  const auto in_order = drawn(one, "a", {1, 2, 3}), restarted = drawn(two, "b", {2, 1, 3});
  EXPECT_EQ(in_order, (std::vector<double>{restarted[1], restarted[0], restarted[2]}));
  EXPECT_NE(in_order[0], in_order[1]);
  const auto secure = SecureGenerator::from_system();
  const auto fresh = drawn(**secure, "c", {1, 1, 1});
  EXPECT_FALSE(fresh[0] == fresh[1] && fresh[1] == fresh[2])
      << "false alarm: one in about (deviation in grains)^2, below 1e-6";
}

TEST_F(GatePlanTest, TheMarkOfWhatLeftMovesForwardOnly) {
  allow(1.0);
  EXPECT_TRUE(ledger_->mark_answer(kPatients, "run", 0, ""));
  ASSERT_TRUE(ledger_->mark_answer(kPatients, "run", 1, "first"));
  EXPECT_TRUE(ledger_->mark_answer(kPatients, "run", 1, "first")) << "the same bytes again";
  EXPECT_FALSE(ledger_->mark_answer(kPatients, "run", 1, "other"));
  EXPECT_FALSE(ledger_->mark_answer(kPatients, "run", 0, ""));
  ASSERT_TRUE(ledger_->mark_answer(kPatients, "run", 3, "third"));
  ledger_.emplace(std::move(*Ledger::open(folder_.path())));  // another process
  EXPECT_FALSE(ledger_->mark_answer(kPatients, "run", 2, "second"));
  EXPECT_TRUE(ledger_->mark_answer(kPatients, "another run", 1, "other"));
  EXPECT_TRUE(ledger_->verify());
}
