// The selections follow their closed forms; every test has the false-alarm rate of statistics.h.
// labels: slow
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "parley/core/threads.h"
#include "parley/privacy/mechanisms/exponential.h"
#include "parley/privacy/mechanisms/exponential_tree.h"
#include "parley/privacy/mechanisms/noisy_max.h"
#include "parley/privacy/mechanisms/permute_and_flip.h"
#include "parley/privacy/mechanisms/top_k.h"
#include "tests/privacy/mechanisms/reference.h"
#include "tests/privacy/mechanisms/statistics.h"

using namespace parley;
using namespace parley::privacy;
using statistics::kAlarm;

namespace {

const std::vector<std::vector<double>> kScoreLists = {{0},
                                                      {0, 0},
                                                      {0, 1},
                                                      {3, -2, 2.5, 0},
                                                      {1, 1, 1, 1, 1, 1, 1},
                                                      {-1000, -1001, -1003},
                                                      {0, -30, -60},
                                                      {5, 4.9, 4.8, 0, -100, 4.85}};

double p_value_of(const std::function<std::size_t()>& select, std::span<const double> probabilities, int draws) {
  std::vector<double> counts(probabilities.size());
  for (int i = 0; i < draws; ++i) ++counts.at(select());
  return statistics::p_value(counts, probabilities, draws);
}

ExponentialSelection unit_selection() {
  return ExponentialSelection::make({.epsilon = 1, .sensitivity = 1}).value();
}

std::vector<double> many_scores(std::size_t count) {
  std::vector<double> scores(count);
  for (std::size_t i = 0; i < count; ++i) scores[i] = 4 * std::sin(0.7 * static_cast<double>(i));
  return scores;
}

}  // namespace

TEST(ExponentialSelection, BothWaysFollowTheLaw) {
  SeededGenerator bits(1);
  for (const auto& scores : kScoreLists)
    for (const double epsilon : {0.1, 1.0, 4.0}) {
      const auto selection = ExponentialSelection::make({.epsilon = epsilon, .sensitivity = 1}).value();
      const auto law = reference::exponential_mechanism(scores, epsilon / 2);
      EXPECT_GT(p_value_of([&] { return selection.select(scores, bits).value(); }, law, 20000), kAlarm) << epsilon;
      EXPECT_GT(p_value_of([&] { return selection.select_by_rejection(scores, bits).value(); }, law, 20000), kAlarm)
          << epsilon;
    }
}

TEST(ExponentialSelection, FollowsTheLawWithTheSecureSource) {
  const auto bits = std::move(SecureGenerator::from_system()).value();
  const std::vector<double> scores = {3, -2, 2.5, 0};
  const auto selection = ExponentialSelection::make({.epsilon = 1, .sensitivity = 1}).value();
  EXPECT_GT(p_value_of([&] { return selection.select(scores, *bits).value(); },
                       reference::exponential_mechanism(scores, 0.5), 50000),
            kAlarm);
}

TEST(ExponentialSelection, MonotoneScoresAndOtherSensitivitiesChangeTheRate) {
  SeededGenerator bits(2);
  const std::vector<double> scores = {3, -2, 2.5, 0};
  const auto monotone =
      ExponentialSelection::make({.epsilon = 1, .sensitivity = 1, .scores = Scores::kMonotone}).value();
  EXPECT_GT(p_value_of([&] { return monotone.select(scores, bits).value(); },
                       reference::exponential_mechanism(scores, 1), 50000),
            kAlarm);
  const auto wide = ExponentialSelection::make({.epsilon = 1, .sensitivity = 0.25}).value();
  EXPECT_GT(
      p_value_of([&] { return wide.select(scores, bits).value(); }, reference::exponential_mechanism(scores, 2), 50000),
      kAlarm);
}

TEST(ExponentialSelection, CountsTheRoundingOfACoarseGrain) {
  // Sensitivity 1.2 on a grain of 1 becomes 2: the rate is epsilon / 4 per unit, not epsilon / 2.4.
  SeededGenerator bits(3);
  const std::vector<double> scores = {3, 0};
  const auto coarse = ExponentialSelection::make({.epsilon = 1, .sensitivity = 1.2, .grain = Grain{0}}).value();
  EXPECT_GT(p_value_of([&] { return coarse.select(scores, bits).value(); },
                       reference::exponential_mechanism(scores, 0.25), 50000),
            kAlarm);
}

TEST(ExponentialSelection, FollowsTheLawOverThousandsOfCandidates) {
  SeededGenerator bits(4);
  const auto scores = many_scores(3000);
  const auto law = reference::exponential_mechanism(scores, 0.5);
  const auto selection = ExponentialSelection::make({.epsilon = 1, .sensitivity = 1}).value();
  // Indices are gathered by their remainder mod 37, which mixes blocks.
  std::vector<double> folded(37), counts(37);
  for (std::size_t i = 0; i < law.size(); ++i) folded[i % 37] += law[i];
  constexpr int kDraws = 5000;
  for (int i = 0; i < kDraws; ++i) ++counts[selection.select(scores, bits).value() % 37];
  EXPECT_GT(statistics::p_value(counts, folded, kDraws), kAlarm);
}

TEST(ExponentialSelection, OneBestAmongManyBadIsFoundEveryTime) {
  SeededGenerator bits(5);
  std::vector<double> scores(100'000, 0.0);
  scores[77'777] = 1000;
  const auto selection = ExponentialSelection::make({.epsilon = 1, .sensitivity = 1}).value();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(selection.select(scores, bits).value(), 77'777u);
}

TEST(ExponentialSelection, DoesNotDependOnTheNumberOfThreads) {
  const auto scores = many_scores(100'000);
  const auto selection = ExponentialSelection::make({.epsilon = 0.1, .sensitivity = 1}).value();
  const auto run = [&](int threads) {
    set_thread_count(threads);
    SeededGenerator bits(6);
    std::vector<std::size_t> picked;
    for (int i = 0; i < 20; ++i) picked.push_back(selection.select(scores, bits).value());
    set_thread_count(0);
    return picked;
  };
  EXPECT_EQ(run(1), run(2));
}

TEST(ExponentialTree, FollowsTheLawBeforeAndAfterUpdates) {
  SeededGenerator bits(7);
  std::vector<double> scores = {3, -2, 2.5, 0, 1, 1};
  auto tree = ExponentialTree::make(unit_selection(), scores).value();
  const auto check = [&] {
    return p_value_of([&] { return tree.select(bits).value(); }, reference::exponential_mechanism(scores, 0.5), 20000);
  };
  EXPECT_GT(check(), kAlarm);
  const auto change = [&](std::size_t index, double score) {
    scores[index] = score;
    ASSERT_TRUE(tree.update(index, score));
  };
  change(1, 2);
  EXPECT_GT(check(), kAlarm);
  change(0, -40);  // the best leaves
  EXPECT_GT(check(), kAlarm);
  change(3, 500);  // a new best far above the reference
  change(4, 501);
  EXPECT_GT(check(), kAlarm);
  EXPECT_GE(tree.rebuilds(), 1u);
}

TEST(ExponentialTree, StaysRightWhenAllScoresShrinkAMillionfold) {
  SeededGenerator bits(8);
  const std::size_t count = 5000;
  std::vector<double> scores(count);
  for (std::size_t i = 0; i < count; ++i) scores[i] = 4e6 + 1e6 * std::sin(static_cast<double>(i));
  auto tree = ExponentialTree::make(unit_selection(), scores).value();
  for (std::size_t i = 0; i < count; ++i) {
    scores[i] *= 1e-6;
    ASSERT_TRUE(tree.update(i, scores[i]));
  }
  std::vector<double> folded(40), counts(40);
  const auto law = reference::exponential_mechanism(scores, 0.5);
  for (std::size_t i = 0; i < count; ++i) folded[i % 40] += law[i];
  constexpr int kDraws = 50000;
  for (int i = 0; i < kDraws; ++i) ++counts[tree.select(bits).value() % 40];
  EXPECT_GT(statistics::p_value(counts, folded, kDraws), kAlarm);
  EXPECT_EQ(tree.rebuilds(), 1u);
}

TEST(ExponentialTree, StaysRightWhenScoresSinkInSmallSteps) {
  SeededGenerator bits(9);
  std::vector<double> scores(600, 0.0);
  auto tree = ExponentialTree::make(unit_selection(), scores).value();
  for (int step = 1; step <= 40; ++step)
    for (std::size_t i = 0; i < scores.size(); ++i) {
      scores[i] = -10.0 * step + (i == 300 ? 8 : 0);
      ASSERT_TRUE(tree.update(i, scores[i]));
      ASSERT_TRUE(i % 200 != 0 || tree.select(bits));
    }
  const auto law = reference::exponential_mechanism(scores, 0.5);
  std::vector<double> split = {law[300], 1 - law[300]}, counts(2);
  constexpr int kDraws = 50000;
  for (int i = 0; i < kDraws; ++i) ++counts[tree.select(bits).value() == 300 ? 0 : 1];
  EXPECT_GT(statistics::p_value(counts, split, kDraws), kAlarm);
}

TEST(ExponentialTree, ManyRandomUpdatesLeaveItEqualToAFreshTree) {
  SeededGenerator changes(10);
  std::vector<double> scores = many_scores(70'000);
  auto tree = ExponentialTree::make(unit_selection(), scores).value();
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t index = changes.below(scores.size());
    scores[index] = 4 * std::cos(static_cast<double>(i));
    ASSERT_TRUE(tree.update(index, scores[index]));
  }
  // The best score never left [-4, 4], so both have the same reference: equal bits must select equally.
  auto fresh = ExponentialTree::make(unit_selection(), scores).value();
  const auto law = reference::exponential_mechanism(scores, 0.5);
  std::vector<double> folded(64), old_counts(64), new_counts(64);
  for (std::size_t i = 0; i < law.size(); ++i) folded[i * 64 / law.size()] += law[i];
  SeededGenerator here(11), there(12);
  constexpr int kDraws = 50000;
  for (int i = 0; i < kDraws; ++i) {
    ++old_counts[tree.select(here).value() * 64 / law.size()];
    ++new_counts[fresh.select(there).value() * 64 / law.size()];
  }
  EXPECT_GT(statistics::p_value(old_counts, folded, kDraws), kAlarm);
  EXPECT_GT(statistics::p_value(new_counts, folded, kDraws), kAlarm);
}

TEST(ExponentialTree, NeverSelectsWhatWasRemovedAndRefusesWhenNothingIsLeft) {
  SeededGenerator bits(13);
  const std::vector<double> scores = {100, 0, 0};
  auto tree = ExponentialTree::make(unit_selection(), scores).value();
  tree.remove(0);
  tree.remove(0);
  for (int i = 0; i < 200; ++i) EXPECT_NE(tree.select(bits).value(), 0u);
  tree.remove(1);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(tree.select(bits).value(), 2u);
  tree.remove(2);
  EXPECT_FALSE(tree.select(bits));
  ASSERT_TRUE(tree.update(1, 7));
  EXPECT_EQ(tree.select(bits).value(), 1u);
  EXPECT_FALSE(tree.update(3, 1.0));
  EXPECT_FALSE(tree.update(0, std::nan("")));
}

TEST(ExponentialTree, FollowsTheLawAfterAllScoresWereAssigned) {
  SeededGenerator bits(41);
  auto tree = ExponentialTree::make(unit_selection(), std::vector<double>{1e6, 2e6, 3e6, 0}).value();
  tree.remove(3);
  const std::vector<double> scores = {1, 2, 3, 0.5};  // a millionfold lower, and the removed one is back
  ASSERT_TRUE(tree.assign(scores));
  const auto law = reference::exponential_mechanism(scores, 0.5);
  EXPECT_GT(p_value_of([&] { return tree.select(bits).value(); }, law, 20000), kAlarm);
  EXPECT_FALSE(tree.assign(std::vector<double>{1, 2}));
  EXPECT_FALSE(tree.assign(std::vector<double>{1, 2, 3, std::nan("")}));
}

TEST(ExponentialTree, SidesFollowTheLawOverAllPairs) {
  SeededGenerator bits(42);
  // Candidates +s, -s; whole numbers, so that both are on the grid as they are.
  for (const std::vector<double>& sizes : {std::vector<double>{0, 1, 2, 3}, {0, 0}, {7, 1, 5}}) {
    auto tree = ExponentialTree::make(unit_selection(), sizes).value();
    std::vector<double> pairs;
    for (const double s : sizes) {
      pairs.push_back(s);
      pairs.push_back(-s);
    }
    const auto draw = [&] {
      const auto side = tree.select_side(bits).value();
      return 2 * side.index + (side.with ? 0 : 1);
    };
    EXPECT_GT(p_value_of(draw, reference::exponential_mechanism(pairs, 0.5), 20000), kAlarm);
  }
}

TEST(ExponentialTree, DrawsBelowCeilingsFollowTheTrueScores) {
  SeededGenerator bits(43);
  const std::vector<double> sizes = {0, 1, 2, 3};
  const std::vector<double> pairs = {0, 0, 1, -1, 2, -2, 3, -3};
  for (const std::vector<double>& above : {std::vector<double>{0, 0, 0, 0}, {3, 0.5, 2, 0}, {0, 4, 0, 4}}) {
    auto tree = ExponentialTree::make(unit_selection(), sizes).value();
    for (std::size_t i = 0; i < sizes.size(); ++i) ASSERT_TRUE(tree.update(i, sizes[i] + above[i] + tree.grain()));
    const auto draw = [&] {
      for (;;) {
        const auto side = tree.select_below_ceilings(bits, 4, [&](std::size_t i) { return sizes[i]; }).value();
        if (side) return 2 * side->index + (side->with ? 0 : 1);
      }
    };
    EXPECT_GT(p_value_of(draw, reference::exponential_mechanism(pairs, 0.5), 20000), kAlarm);
  }
  auto tree = ExponentialTree::make(unit_selection(), sizes).value();
  EXPECT_FALSE(tree.select_below_ceilings(bits, 4, [&](std::size_t i) { return sizes[i] + 1; }))
      << "a score above its ceiling";
}

TEST(PermuteAndFlip, FollowsTheLaw) {
  SeededGenerator bits(14);
  for (const auto& scores : kScoreLists)
    for (const double epsilon : {0.1, 1.0, 4.0}) {
      const auto selection = PermuteAndFlip::make({.epsilon = epsilon, .sensitivity = 1}).value();
      const auto law = reference::permute_and_flip(scores, epsilon / 2);
      EXPECT_GT(p_value_of([&] { return selection.select(scores, bits).value(); }, law, 20000), kAlarm) << epsilon;
    }
}

TEST(PermuteAndFlip, IsChargedAsPureAndNeverAsBoundedRange) {
  EXPECT_EQ(PermuteAndFlip::make({.epsilon = 0.5, .sensitivity = 1}).value().event(), Pure{0.5});
  EXPECT_EQ(ExponentialSelection::make({.epsilon = 0.5, .sensitivity = 1}).value().event(), Exponential{0.5});
}

TEST(NoisyMax, FollowsTheLaw) {
  SeededGenerator bits(15);
  for (const auto& scores : kScoreLists)
    for (const double epsilon : {0.1, 1.0, 4.0}) {
      const auto selection = NoisyMax::make({.epsilon = epsilon, .sensitivity = 1}).value();
      const auto law = reference::noisy_max_laplace(scores, 2 / epsilon);
      EXPECT_GT(p_value_of([&] { return selection.select(scores, bits).value(); }, law, 20000), kAlarm) << epsilon;
    }
}

TEST(NoisyMax, PaysTwiceTheSensitivityUnlessScoresAreMonotone) {
  const auto general = NoisyMax::make({.epsilon = 0.5, .sensitivity = 1}).value();
  const auto monotone = NoisyMax::make({.epsilon = 0.5, .sensitivity = 1, .scores = Scores::kMonotone}).value();
  EXPECT_NEAR(general.scale_in_grains() * general.grain().value(), 4, 1e-12);
  EXPECT_NEAR(monotone.scale_in_grains() * monotone.grain().value(), 2, 1e-12);
  EXPECT_GE(general.scale_in_grains() * general.grain().value(), 4);
}

TEST(TopK, OneShotAndPeelingFollowTheSameLawOfOrderedLists) {
  SeededGenerator bits(16);
  const std::vector<double> scores = {2, 1, 0, -1};
  constexpr double kEta = 0.5;
  std::map<std::vector<std::size_t>, double> law;
  double sum = 0;
  for (const double s : scores) sum += std::exp(kEta * s);
  for (std::size_t a = 0; a < scores.size(); ++a)
    for (std::size_t b = 0; b < scores.size(); ++b)
      if (a != b) {
        const double first = std::exp(kEta * scores[a]);
        law[{a, b}] = first / sum * std::exp(kEta * scores[b]) / (sum - first);
      }
  const auto top = TopK::make({.epsilon = 1, .sensitivity = 1}, 2).value();
  for (const bool one_shot : {true, false}) {
    std::map<std::vector<std::size_t>, double> seen;
    constexpr int kDraws = 50000;
    for (int i = 0; i < kDraws; ++i)
      ++seen[one_shot ? top.one_shot(scores, bits).value() : top.peel(scores, bits).value()];
    std::vector<double> counts, probabilities;
    for (const auto& [list, probability] : law) {
      counts.push_back(seen[list]);
      probabilities.push_back(probability);
    }
    EXPECT_GT(statistics::p_value(counts, probabilities, kDraws), kAlarm) << one_shot;
  }
}

TEST(TopK, TakesEveryIndexOnceAndSaysWhatItCosts) {
  SeededGenerator bits(17);
  const auto scores = many_scores(50);
  const auto all = TopK::make({.epsilon = 0.3, .sensitivity = 1}, 50).value();
  for (const auto& picked : {all.one_shot(scores, bits).value(), all.peel(scores, bits).value()}) {
    std::vector<bool> seen(50);
    for (const std::size_t index : picked) seen[index] = true;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 50);
  }
  EXPECT_EQ(all.event(), (Event{Exponential{0.3}, 50}));
  EXPECT_FALSE(all.one_shot(many_scores(49), bits));
  EXPECT_FALSE(all.peel(many_scores(49), bits));
  EXPECT_FALSE(TopK::make({.epsilon = 0.3, .sensitivity = 1}, 0));
}

TEST(Selections, RefuseBadSettings) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, std::nan(""), inf}) {
    for (const SelectionSettings settings :
         {SelectionSettings{.epsilon = bad, .sensitivity = 1}, SelectionSettings{.epsilon = 1, .sensitivity = bad}}) {
      EXPECT_FALSE(ExponentialSelection::make(settings));
      EXPECT_FALSE(PermuteAndFlip::make(settings));
      EXPECT_FALSE(NoisyMax::make(settings));
      EXPECT_FALSE(TopK::make(settings, 2));
    }
  }
  EXPECT_FALSE(ExponentialSelection::make({.epsilon = 1e6, .sensitivity = 1, .grain = Grain{0}}));
}

TEST(Selections, RefuseBadScoresAndReleaseNothing) {
  SeededGenerator bits(18);
  const SelectionSettings settings{.epsilon = 1, .sensitivity = 1};
  const auto exponential = ExponentialSelection::make(settings).value();
  const auto flip = PermuteAndFlip::make(settings).value();
  const auto noisy = NoisyMax::make(settings).value();
  const auto top = TopK::make(settings, 1).value();
  const double inf = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& bad :
       {std::vector<double>{}, {1, std::nan(""), 2}, {1, 2, 3, 4, inf}, {-inf, 0}, {1e30, 0}, {std::nan("")}}) {
    EXPECT_FALSE(exponential.select(bad, bits));
    EXPECT_FALSE(exponential.select_by_rejection(bad, bits));
    EXPECT_FALSE(flip.select(bad, bits));
    EXPECT_FALSE(noisy.select(bad, bits));
    EXPECT_FALSE(top.one_shot(bad, bits));
    EXPECT_FALSE(top.peel(bad, bits));
    EXPECT_FALSE(ExponentialTree::make(exponential, bad));
  }
}
