// Every door through which an index is released follows the closed form at the sensitivity that its scores
// state: what is charged does not know the sensitivity, so nothing but the law of the draws shows that a door
// uses it. The same procedure must reject each door with a sensitivity of 0.8 of that, which is the law at
// epsilon / 0.8. One call raises a false alarm with probability at most 1e-9 (statistics.h), all of this file
// together below 1e-8.
// labels: slow
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/mechanisms/label_laplace.h"
#include "parley/privacy/score_board.h"
#include "parley/privacy/sensitivity/class_labels.h"
#include "parley/privacy/sensitivity/clipped_sum.h"
#include "parley/privacy/sensitivity/exact_sums.h"
#include "parley/privacy/sensitivity/residual_sums.h"
#include "tests/privacy/mechanisms/reference.h"
#include "tests/privacy/mechanisms/statistics.h"
#include "tests/privacy/with_ledger.h"
#include "tests/support/sanitized.h"

using namespace parley;
using namespace parley::privacy;
using linalg::Index;
using linalg::Matrix;

namespace {

const Purse kDiagnoses{"patients", Unit::kLabel, Neighbours::kReplaceOne};
constexpr double kEpsilon = 1, kTooSmall = 0.8;
constexpr int kDraws = 6000;  // a sensitivity of 0.8 is nine deviations away
constexpr std::size_t kLabels = 30'000;
constexpr std::size_t kRows = 40, kCols = 4;

using Draw = std::function<Result<Released<std::size_t>>()>;

class Doors : public WithLedger {
 protected:
  void SetUp() override {
    // With a derivative of 1/4 for everybody a column of m ones has a score of m / 8 sensitivities.
    std::vector<double> table(kRows * kCols, 0.0);
    for (std::size_t j = 0; j < kCols; ++j)
      for (std::size_t i = 0; i < 8 * j; ++i) table[j * kRows + i] = 1;
    features_.emplace(*GridFeatures::make(Matrix::from_dense(kRows, kCols, table), std::vector<double>(kCols, 1.0)));
    sums_.emplace(*ExactSums::make(*features_, {}));
    sums_->assign(std::vector<double>(kRows, 0.25));
    scores_ = Gate::in_the_clear(sums_->scores(VertexRule{}), Unprotected{}).value();
    sensitivity_ = sums_->score_sensitivity(VertexRule{});
  }
  Gate gate(const Mechanism& mechanism, Bits& bits, std::int64_t steps = kDraws, const Purse& purse = kPatients) {
    Gate gate = std::move(*Gate::open(*ledger_, purse, "run " + std::to_string(++runs_), bits));
    EXPECT_TRUE(ledger_->set_budget(purse, {*Epsilon::make(1e9), *Delta::make(0.5), Composition::kPlans}));
    const auto reserved = gate.reserve({.step = {{mechanism, 1}}, .steps = steps}, *Delta::make(1e-6));
    EXPECT_TRUE(reserved) << reserved.error().message;
    return gate;
  }
  static bool follows(const std::vector<double>& law, int draws, const Draw& draw) {
    std::vector<double> counts(law.size(), 0.0);
    for (int i = 0; i < draws; ++i) {
      const auto released = draw();
      if (!released) {
        ADD_FAILURE() << released.error().message;
        return false;
      }
      counts.at(released->value()) += 1;
    }
    return statistics::p_value(counts, law, draws) > statistics::kAlarm;
  }
  [[nodiscard]] std::vector<double> exponential_law() const {
    return reference::exponential_mechanism(scores_, kEpsilon / (2 * sensitivity_));
  }

  std::optional<GridFeatures> features_;
  std::optional<ExactSums> sums_;
  std::vector<double> scores_;
  double sensitivity_ = 0;
  int runs_ = 0;
};

}  // namespace

TEST_F(Doors, SelectFollowsTheExponentialMechanismAtTheStatedSensitivity) {
  const auto door = [&](double epsilon) {
    SeededGenerator bits(1);
    Gate gate = this->gate(Exponential{epsilon}, bits);
    return follows(exponential_law(), kDraws,
                   [&] { return gate.release(sums_->scores(VertexRule{}), ByExponential{*Epsilon::make(epsilon)}); });
  };
  EXPECT_TRUE(door(kEpsilon));
  EXPECT_FALSE(door(kEpsilon / kTooSmall));
}

TEST_F(Doors, NoisyMaxFollowsItsLawAtTheStatedSensitivity) {
  PARLEY_SKIP_WHEN_SANITIZED();
  const auto law = reference::noisy_max_laplace(scores_, 2 * sensitivity_ / kEpsilon);
  const auto door = [&](double epsilon) {
    SeededGenerator bits(2);
    Gate gate = this->gate(Pure{epsilon}, bits);
    return follows(law, kDraws / 2,
                   [&] { return gate.release(sums_->scores(VertexRule{}), ByNoisyMax{*Epsilon::make(epsilon)}); });
  };
  EXPECT_TRUE(door(kEpsilon));
  EXPECT_FALSE(door(kEpsilon / kTooSmall));
}

TEST_F(Doors, AScoreBoardFollowsTheExponentialMechanismAtItsSensitivity) {
  const auto door = [&](double epsilon) {
    SeededGenerator bits(3);
    Gate gate = this->gate(Exponential{epsilon}, bits);
    ScoreBoard board = *ScoreBoard::open(gate, {*Epsilon::make(epsilon), sensitivity_}, scores_.size());
    for (std::size_t v = 0; v < scores_.size(); ++v) EXPECT_TRUE(board.set(v, sums_->score(VertexRule{}, v)));
    return follows(exponential_law(), kDraws, [&] { return board.select(); });
  };
  EXPECT_TRUE(door(kEpsilon));
  EXPECT_FALSE(door(kEpsilon / kTooSmall));
}

// The board has the pairs +-s; VertexRule lists them as -g, +g with s = -g, in the same order.
TEST_F(Doors, ASignedBoardFollowsTheExponentialMechanismAtItsSensitivity) {
  const auto door = [&](double epsilon) {
    SeededGenerator bits(4);
    Gate gate = this->gate(Exponential{epsilon}, bits);
    SignedBoard board = *SignedBoard::open(gate, {*Epsilon::make(epsilon), sensitivity_}, kCols);
    EXPECT_TRUE(board.set_all(sums_->scores(DescentRule{})));
    return follows(exponential_law(), kDraws, [&] { return board.select(); });
  };
  EXPECT_TRUE(door(kEpsilon));
  EXPECT_FALSE(door(kEpsilon / kTooSmall));
}

TEST_F(Doors, AShrinkingBoardFollowsTheExponentialMechanismAtItsSensitivity) {
  ResidualSums sums = *ResidualSums::make(*features_, std::vector<double>(kRows, -0.25),
                                          {.radius = 0.01, .label_bound = 1, .steps = 1});
  sums.add(1, 0.01);
  constexpr double kShrunk = 0.75;
  // The scores as a board of both signs has them, from the ceilings of a point: a ceiling there is the
  // score's size.
  const std::vector<double> sizes = Gate::in_the_clear(sums.ceilings(kShrunk, kShrunk), Unprotected{}).value();
  std::vector<double> scores;  // descents along +e_c are all negative or 0 here: labels are
  for (const double size : sizes) scores.insert(scores.end(), {-size, size});
  const auto law = reference::exponential_mechanism(scores, kEpsilon / (2 * sums.score_sensitivity()));
  const auto door = [&](double epsilon) {
    SeededGenerator bits(5);
    Gate gate = this->gate(Exponential{epsilon}, bits);
    ShrinkingBoard board = *ShrinkingBoard::open(gate, {*Epsilon::make(epsilon), sums.score_sensitivity()}, kCols);
    EXPECT_TRUE(board.set_ceilings(sums.ceilings(0.5, 1)));
    return follows(law, kDraws, [&]() -> Result<Released<std::size_t>> {
      for (;;) {
        PARLEY_TRY(const auto chosen, board.select([&](std::size_t c) { return sums.score(c, kShrunk); }));
        if (chosen) return *chosen;
      }
    });
  };
  EXPECT_TRUE(door(kEpsilon));
  EXPECT_FALSE(door(kEpsilon / kTooSmall));
}

// Each of these draws is a durable charge, so they are few; the scores are those that tell the two laws apart
// best.
TEST_F(Doors, SelectByKeyFollowsTheExponentialMechanismAtTheStatedSensitivity) {
  constexpr int kFew = 800;
  const ClipRule rule{.bound = 1.0, .grain = {-10}};
  std::vector<double> records;  // 12 of them: the first score is 12, six sensitivities above all others
  for (int i = 0; i < 12; ++i) {
    records.push_back(1);
    records.insert(records.end(), 20, i < 6 ? -0.5 : 0.5);
  }
  const auto scores = *clipped_scores(Private(Contributions{records, 21}), rule);
  const auto law = reference::exponential_mechanism(Gate::in_the_clear(scores, Unprotected{}).value(),
                                                    kEpsilon / (2 * scores.sensitivity()));
  const auto door = [&](double epsilon) {
    SeededGenerator bits(6);
    EXPECT_TRUE(ledger_->set_budget(kPatients, {*Epsilon::make(1e9), *Delta::make(0.5)}));
    Gate gate = std::move(*Gate::open(*ledger_, kPatients, "by key " + std::to_string(epsilon), bits));
    int drawn = 0;
    return follows(law, kFew, [&] {
      return gate.release(scores, ByExponential{*Epsilon::make(epsilon)}, Keyed{std::to_string(++drawn)});
    });
  };
  EXPECT_TRUE(door(kEpsilon));
  EXPECT_FALSE(door(kEpsilon / kTooSmall));
}

TEST_F(Doors, PermuteAndFlipFollowsItsLawAtTheStatedSensitivity) {
  const auto law = reference::permute_and_flip(scores_, kEpsilon / (2 * sensitivity_));
  const auto door = [&](double epsilon) {
    SeededGenerator bits(7);
    Gate gate = this->gate(Pure{epsilon}, bits);
    return follows(law, kDraws, [&] {
      return gate.release(sums_->scores(VertexRule{}), ByPermuteAndFlip{*Epsilon::make(epsilon)});
    });
  };
  EXPECT_TRUE(door(kEpsilon));
  EXPECT_FALSE(door(kEpsilon / kTooSmall));
}

TEST_F(Doors, TheBestTwoFollowTwoExponentialMechanismsBothWays) {
  PARLEY_SKIP_WHEN_SANITIZED();
  const std::size_t all = scores_.size();
  const std::vector<double> one = exponential_law();
  std::vector<double> law(all * all, 0.0);  // by first and second pick
  for (std::size_t i = 0; i < all; ++i)
    for (std::size_t j = 0; j < all; ++j)
      if (i != j) law[i * all + j] = one[i] * one[j] / (1 - one[i]);
  for (const Picking picking : {Picking::kOneShot, Picking::kPeeling}) {
    const auto door = [&](double epsilon) {
      SeededGenerator bits(8);
      Gate gate = this->gate(Exponential{epsilon}, bits, 2 * kDraws);
      std::vector<double> counts(law.size(), 0.0);
      for (int i = 0; i < kDraws; ++i) {
        const auto best = gate.release(sums_->scores(VertexRule{}), BestOf{2, *Epsilon::make(epsilon), picking});
        if (!best) {
          ADD_FAILURE() << best.error().message;
          return false;
        }
        counts[best->value()[0] * all + best->value()[1]] += 1;
      }
      EXPECT_FALSE(gate.release(sums_->scores(VertexRule{}), BestOf{1, *Epsilon::make(epsilon), picking}))
          << "both picks are paid for";
      return statistics::p_value(counts, law, kDraws) > statistics::kAlarm;
    };
    EXPECT_TRUE(door(kEpsilon));
    EXPECT_FALSE(door(kEpsilon / kTooSmall));
  }
}

TEST_F(Doors, RandomisedResponseFollowsItsLawForTheUnitLabel) {
  const auto labels = *class_labels(Private(std::vector<std::size_t>(kLabels, 1)), {.classes = 3});
  const double other = 1 / (std::exp(kEpsilon) + 2);
  const auto door = [&](double epsilon) {
    SeededGenerator bits(9);
    Gate gate = this->gate(Pure{epsilon}, bits, 1, kDiagnoses);
    const auto told = gate.release(labels, ByRandomisedResponse{*Epsilon::make(epsilon)});
    EXPECT_TRUE(told) << told.error().message;
    std::vector<double> counts(3, 0.0);
    for (const std::size_t label : told->value()) counts.at(label) += 1;
    EXPECT_FALSE(gate.release(labels, ByRandomisedResponse{*Epsilon::make(epsilon)}))
        << "the same labels again cost again";
    return statistics::p_value(counts, std::vector<double>{other, 1 - 2 * other, other}, kLabels) > statistics::kAlarm;
  };
  EXPECT_TRUE(door(kEpsilon));
  EXPECT_FALSE(door(kEpsilon / kTooSmall));
}

TEST_F(Doors, LaplaceOnLabelsFollowsItsLawForTheUnitLabel) {
  constexpr std::size_t kClasses = 3;
  const auto labels = *class_labels(Private(std::vector<std::size_t>(kLabels / kClasses, 1)), {.classes = kClasses});
  const auto law = [](std::int64_t cell) {  // of one scale each
    const double x = static_cast<double>(cell >= 0 ? cell : -cell - 1);
    return (std::exp(-x) - std::exp(-x - 1)) / 2;
  };
  const auto door = [&](double epsilon) {
    SeededGenerator bits(10);
    Gate gate = this->gate(LabelLaplace::make(epsilon, kClasses)->event(), bits, 1, kDiagnoses);
    const auto told = gate.release(labels, ByOneHotLaplace{*Epsilon::make(epsilon)});
    EXPECT_TRUE(told) << told.error().message;
    std::vector<std::int64_t> cells;
    for (std::size_t i = 0; i < told->value().size(); ++i)
      cells.push_back(
          static_cast<std::int64_t>(std::floor((told->value()[i] - (i % kClasses == 1 ? 1 : 0)) * kEpsilon / 2)));
    return statistics::p_value(statistics::histogram(cells), static_cast<double>(cells.size()), 8, law) >
           statistics::kAlarm;
  };
  EXPECT_TRUE(door(kEpsilon));
  EXPECT_FALSE(door(kEpsilon / kTooSmall));
}

TEST_F(Doors, LabelsArePaidFromAPurseOfTheirUnitAndNothingElse) {
  SeededGenerator bits(11);
  const Private labels(std::vector<std::size_t>{0, 7, 1});
  const Epsilon much = *Epsilon::make(20);
  EXPECT_FALSE(class_labels(labels, {.classes = 1}));
  EXPECT_FALSE(class_labels(labels, {.classes = 2, .neighbours = Neighbours::kAddRemove}));
  EXPECT_FALSE(class_labels(labels, {.classes = 2, .unit = Unit::kClient}));
  const auto of_labels = *class_labels(labels, {.classes = 2});
  const auto of_records = *class_labels(labels, {.classes = 2, .unit = Unit::kRecord});
  Gate diagnoses = gate(Pure{20}, bits, 1, kDiagnoses), patients = gate(Pure{20}, bits);
  EXPECT_FALSE(patients.release(of_labels, ByRandomisedResponse{much}));
  EXPECT_FALSE(patients.release(of_labels, ByOneHotLaplace{much}));
  EXPECT_FALSE(diagnoses.release(of_records, ByRandomisedResponse{much}));
  EXPECT_TRUE(patients.release(of_records, ByRandomisedResponse{much}));
  const auto told = diagnoses.release(of_labels, ByRandomisedResponse{much});
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(told->value(), (std::vector<std::size_t>{0, 0, 1}))
      << "what is not a class counts as class 0; this is the truth but for one in 10^8";
}

TEST_F(Doors, WhatIsReleasedByKeyIsChargedAsItWasDrawn) {
  SeededGenerator bits(12);
  const Epsilon half = *Epsilon::make(0.5);
  const ClipRule rule{.bound = 1.0, .grain = {-10}};
  const auto scores = *clipped_scores(Private(Contributions{{0, 1, 0, 0, 1, 0}, 3}), rule);
  for (const Purse& purse : {kPatients, kDiagnoses})
    ASSERT_TRUE(ledger_->set_budget(purse, {*Epsilon::make(100), *Delta::make(1e-6)}));
  Gate patients = std::move(*Gate::open(*ledger_, kPatients, "by key", bits));
  ASSERT_TRUE(patients.release(scores, ByPermuteAndFlip{half}, Keyed{"flip"}));
  EXPECT_FALSE(patients.release(scores, ByPermuteAndFlip{half}, Keyed{"flip"})) << "a key is used once";
  EXPECT_FALSE(patients.release(scores, BestOf{4, half}, Keyed{"four of three"}));
  ASSERT_TRUE(patients.release(scores, BestOf{2, half, Picking::kOneShot}, Keyed{"one shot"}));
  ASSERT_TRUE(patients.release(scores, BestOf{3, half, Picking::kPeeling}, Keyed{"peeled"}));
  const auto spent = ledger_->spent(kPatients);
  ASSERT_EQ(spent->charges, 3);
  const std::vector<Event> drawn = {{Pure{0.5}, 1}, {Exponential{0.5}, 5}};
  EXPECT_EQ(spent->events, drawn) << "equal mechanisms are counted together";

  const auto labels = *class_labels(Private(std::vector<std::size_t>{0, 1, 1}), {.classes = 2});
  Gate diagnoses = std::move(*Gate::open(*ledger_, kDiagnoses, "by key", bits));
  ASSERT_TRUE(diagnoses.release(labels, ByRandomisedResponse{half}, Keyed{"response"}));
  const auto rows = diagnoses.release(labels, ByOneHotLaplace{half}, Keyed{"rows"});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->value().size(), 6U);
  EXPECT_EQ(ledger_->spent(kDiagnoses)->events,
            (std::vector<Event>{{Pure{0.5}, 1}, {LabelLaplace::make(0.5, 2)->event(), 1}}));
}

TEST_F(Doors, AReplayTellsPicksAndLabelsAgain) {
  SeededGenerator bits(13);
  const Epsilon one = *Epsilon::make(1);
  const auto labels =
      *class_labels(Private(std::vector<std::size_t>{0, 1, 1, 0, 1}), {.classes = 2, .unit = Unit::kRecord});
  const Reservation both{.step = {{Exponential{1}, 3}, {Pure{1}, 1}}};
  const auto run = [&](Gate& gate) {
    EXPECT_TRUE(gate.reserve(both, *Delta::make(1e-6)));
    std::vector<std::size_t> seen = gate.release(sums_->scores(VertexRule{}), BestOf{3, one})->value();
    const auto told = gate.release(labels, ByRandomisedResponse{one})->value();
    seen.insert(seen.end(), told.begin(), told.end());
    return seen;
  };
  ASSERT_TRUE(ledger_->set_budget(kPatients, {*Epsilon::make(100), *Delta::make(1e-5), Composition::kPlans}));
  Gate gate = std::move(*Gate::open(*ledger_, kPatients, "told", bits));
  gate.keep_transcript();
  const auto first = run(gate);
  Gate again = Gate::replay(gate.transcript(), kPatients);
  EXPECT_EQ(run(again), first);
}

// Whether scores are on a grid already and who pays are two questions: every answer to both is released alike.
TEST_F(Doors, ScoresOfEitherKindArePaidEitherWay) {
  SeededGenerator bits(14);
  const Epsilon half = *Epsilon::make(0.5);
  const auto on_grid = *clipped_scores(Private(Contributions{{0, 1, 0, 0, 1, 0}, 3}), {.bound = 1.0, .grain = {-10}});
  Gate planned = gate(Exponential{0.5}, bits, 3);
  EXPECT_TRUE(planned.release(on_grid, ByExponential{half}));
  EXPECT_TRUE(planned.release(on_grid, BestOf{2, half}));
  EXPECT_FALSE(planned.release(on_grid, ByExponential{half})) << "three picks were paid for";
  const Purse purse{"one by one", Unit::kRecord, Neighbours::kReplaceOne};
  ASSERT_TRUE(ledger_->set_budget(purse, {*Epsilon::make(100), *Delta::make(1e-6)}));
  Gate keyed = std::move(*Gate::open(*ledger_, purse, "scores", bits));
  EXPECT_TRUE(keyed.release(sums_->scores(VertexRule{}), ByExponential{half}, Keyed{"select"}));
  EXPECT_TRUE(keyed.release(sums_->scores(VertexRule{}), ByNoisyMax{half}, Keyed{"maximum"}));
  EXPECT_TRUE(keyed.release(sums_->value<L2>(0), Deviation{4.0}, Keyed{"number"}));
  EXPECT_FALSE(keyed.release(sums_->value<L2>(0), Deviation{4.0}, Keyed{"number"})) << "a key is used once";
  EXPECT_EQ(ledger_->spent(purse)->charges, 3);
}
