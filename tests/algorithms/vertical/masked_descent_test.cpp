// labels: slow
#include "parley/algorithms/vertical/masked_descent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "parley/algorithms/exact/exact.h"
#include "tests/algorithms/vertical/masked_checks.h"

using namespace parley;
using namespace parley::algorithms;
using namespace parley::tests;
using Step = MaskedDescent::Step;

TEST(MaskedDescent, OpensTheIntegerGradientExactly) {
  for (const int parties : {2, 3}) {
    const MaskedData data(90, parties == 2 ? std::vector<int>{4, 3} : std::vector<int>{3, 2, 4}, 5);
    const auto shares = data.shares(true);
    auto algorithm = MaskedDescent::make(masked_terms(parties, 0.01), {.iterations = 6, .tolerance = 0});
    ASSERT_TRUE(algorithm) << algorithm.error().message;
    auto first = algorithm->begin(masked_facts(shares));
    // The intercept is penalised: a column of ones at the party with the labels.
    ASSERT_TRUE(first) << first.error().message;
    int opened = 0;
    std::vector<MaskedDescent::Memory> memories(shares.size());
    MaskedTaps taps;
    taps.answered = [&](const auto& iterate, int party, const auto& reply, const auto& memory) {
      memories[static_cast<std::size_t>(party)] = memory;
      if (iterate.step != Step::kOpen) return;
      const auto expected = sums_of(memories, expected_residuals(iterate, memories, data.labels));
      ASSERT_EQ(reply.opened.size(), expected.size());
      for (std::size_t c = 0; c < expected.size(); ++c)
        EXPECT_EQ(modulo(reply.opened[c], memory.numbers->ring_bits), expected[c]) << iterate.index << " " << c;
      ++opened;
    };
    auto terms = masked_terms(parties, 0.01);
    terms.objective.intercept = glm::Intercept::kPenalised;
    algorithm = MaskedDescent::make(terms, {.iterations = 6, .tolerance = 0});
    first = algorithm->begin(masked_facts(shares));
    const MaskedRun run = run_masked(*algorithm, *first, shares, taps);
    ASSERT_FALSE(run.error) << run.error->message;
    EXPECT_EQ(opened, 7);
  }
}

TEST(MaskedDescent, ReachesTheExactOptimumWithoutPrivacy) {
  const MaskedData data(200, {4, 3}, 7);
  const auto shares = data.shares();
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.02), {.iterations = 600, .tolerance = 1e-7});
  const auto first = algorithm->begin(masked_facts(shares));
  ASSERT_TRUE(first) << first.error().message;
  const MaskedRun run = run_masked(*algorithm, *first, shares);
  ASSERT_FALSE(run.error) << run.error->message;
  const linalg::Matrix whole = whole_of(data);
  const glm::Objective objective{.task = glm::Task::kLogistic, .l2 = 0.02};
  const auto fit = exact({whole, data.labels, objective}, {}, {});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(glm::evaluate(objective, whole, data.labels, run.iterate.parameters), fit->objective, 1e-7);
  for (std::size_t j = 0; j < 7; ++j) EXPECT_NEAR(run.iterate.parameters[j], fit->weights[j], 1e-3);
  for (std::size_t p = 0; p < 2; ++p) EXPECT_TRUE(run.memories[p].released);
}

// Everything that parties open is uniform and fresh, whatever the data: also where every record is the same.
TEST(MaskedDescent, WhatIsOpenedIsUniformAndNoMaskComesTwice) {
  MaskedData data(4000, {3, 2}, 9);
  data.features[0] = linalg::Matrix::from_dense(4000, 3, std::vector<double>(12000, 1.0));
  const auto shares = data.shares();
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.01), {.iterations = 4, .margin_bits = 16, .tolerance = 0});
  const auto first = algorithm->begin(masked_facts(shares));
  std::vector<std::vector<std::uint64_t>> masks, margins;
  MaskedTaps taps;
  taps.answered = [&](const auto& iterate, int party, const auto&, const auto& memory) {
    const MaskedNumbers* numbers = memory.numbers.get();
    if (iterate.step == Step::kMargins) {
      const auto u = words_of(memory.own_margins, numbers->margin_bits);
      EXPECT_TRUE(looks_uniform(u, numbers->margin_bits));
      const auto own = memory.columns->margin_words(
          std::span(memory.asked).subspan(numbers->first[static_cast<std::size_t>(party)], memory.columns->columns()),
          numbers->margins);
      std::vector<std::uint64_t> mask;
      for (std::size_t i = 0; i < u.size(); ++i) mask.push_back((u[i] - own[i]) & 0xffff);
      masks.push_back(mask);
      margins.push_back(std::vector<std::uint64_t>(own.begin(), own.end()));
    }
    if (iterate.step == Step::kResidual || iterate.step == Step::kProducts) {
      const auto f = words_of(memory.own_residuals, numbers->ring_bits);
      EXPECT_TRUE(looks_uniform(f, numbers->ring_bits));
      masks.push_back(f);
    }
  };
  // E_k as the other party reads it, by a copy of what that one remembers.
  std::vector<MaskedDescent::Memory> memories(2);
  const auto seen = taps.answered;
  taps.answered = [&](const auto& iterate, int party, const auto& reply, const auto& memory) {
    memories[static_cast<std::size_t>(party)] = memory;
    if (iterate.step == Step::kMatrix && party == 1) {
      MaskedDescent::Memory reader = restarted(memories[0]);
      ASSERT_TRUE(reader.peers.take_up({}, 0, " masked-descent"));
      const auto opened = reader.peers.open(1, reply.sealed[0], {.round = 1, .step = Step::kMatrix});
      ASSERT_TRUE(opened) << opened.error().message;
      EXPECT_TRUE(looks_uniform(words_of(opened->substr(32), memory.numbers->ring_bits), memory.numbers->ring_bits));
    }
    seen(iterate, party, reply, memory);
  };
  const MaskedRun run = run_masked(*algorithm, *first, shares, taps);
  ASSERT_FALSE(run.error) << run.error->message;
  EXPECT_EQ(masks.size(), 2u * 4 + 2 * 5);
  EXPECT_TRUE(all_fresh(masks));
  // The checks see what they are for: a mask that comes again (an index or a seed), and a value without its mask.
  masks.push_back(masks.front());
  EXPECT_FALSE(all_fresh(masks));
  EXPECT_FALSE(looks_uniform(margins.front(), 16));
}

TEST(MaskedDescent, NobodyLearnsMoreOfAPartyThanItsClippedMargin) {
  MaskedData data(60, {2, 2}, 9);
  const auto shares = data.shares();
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.01), {.iterations = 2, .tolerance = 0});
  const auto first = algorithm->begin(masked_facts(shares));
  int seen = 0;
  MaskedTaps taps;
  taps.task = [](MaskedDescent::Task& task, int) {
    for (double& weight : task.weights) weight = 1e9;  // a coordinator may ask for anything, and says the same to all
  };
  taps.answered = [&](const auto& iterate, int party, const auto&, const auto& memory) {
    if (iterate.step != Step::kMargins) return;
    const privacy::MarginRule& rule = memory.numbers->margins;
    std::vector<std::uint32_t> delta(60);
    privacy::DealtStream(memory.seed, privacy::Dealt::kMargin, iterate.index).fill(delta);
    const auto u = words_of(memory.own_margins, memory.numbers->margin_width());
    const std::vector<double> weights(memory.columns->columns(), 1e9);
    bool beyond = false;
    for (std::size_t i = 0; i < u.size(); ++i) {
      const std::int64_t margin = privacy::centred(u[i] - delta[i], rule.bits);
      EXPECT_LE(std::abs(margin), rule.largest());
      beyond = beyond || std::abs(memory.columns->margins(weights)[i]) > rule.period / 8;
    }
    EXPECT_TRUE(beyond) << "without the clip it would have been another margin, of party " << party;
    ++seen;
  };
  const MaskedRun run = run_masked(*algorithm, *first, shares, taps);
  ASSERT_FALSE(run.error) << run.error->message;
  EXPECT_EQ(seen, 4);
}

TEST(MaskedDescent, PartiesThatComputeWithDifferentThingsSendNoShare) {
  const MaskedData data(50, {3, 3}, 21);
  const auto shares = data.shares();
  // Other weights for one of them; another index is refused before that; other tables follow from another job.
  for (const bool other_weights : {true, false}) {
    auto algorithm = MaskedDescent::make(masked_terms(2, 0.05), {.iterations = 3, .tolerance = 0});
    const auto first = algorithm->begin(masked_facts(shares));
    int shared = 0;
    MaskedTaps taps;
    taps.task = [&](MaskedDescent::Task& task, int party) {
      if (task.step == Step::kMargins && task.index == 2 && party == 1) {
        if (other_weights)
          task.weights[0] += 1e-9;
        else
          task.index = 1;
      }
    };
    taps.answered = [&](const auto& iterate, int, const auto&, const auto&) {
      shared += iterate.step == Step::kShare && iterate.index == 2;
    };
    const MaskedRun run = run_masked(*algorithm, *first, shares, taps);
    ASSERT_TRUE(run.error);
    EXPECT_EQ(shared, 0) << run.error->message;
  }
  auto ours = MaskedDescent::make(masked_terms(2, 0.05), {.iterations = 3, .harmonics = 20, .tolerance = 0});
  auto theirs = MaskedDescent::make(masked_terms(2, 0.05), {.iterations = 3, .harmonics = 21, .tolerance = 0});
  const auto first = ours->begin(masked_facts(shares));
  MaskedDescent::Iterate iterate = *first;
  std::vector<MaskedDescent::Memory> memories(2);
  std::optional<Error> refused;
  while (!refused && iterate.step <= Step::kShare) {
    std::vector<rounds::Answer<MaskedDescent::Reply>> answers;
    for (int p = 0; p < 2 && !refused; ++p) {
      const auto task = ours->ask(iterate, p);
      if (!task) continue;
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      const auto reply =
          (p == 0 ? *ours : *theirs)
              .answer(*task, shares[static_cast<std::size_t>(p)], memories[static_cast<std::size_t>(p)], gate);
      if (!reply) {
        refused = reply.error();
        break;
      }
      answers.push_back({p, reply->value()});
    }
    if (!refused) iterate = *absorbed(*ours, iterate, answers);
  }
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->message.find("do not compute with the same"), std::string::npos) << refused->message;
}

TEST(MaskedDescent, AnIndexIsAnsweredOnceAlsoAfterARestart) {
  const MaskedData data(50, {3, 3}, 23);
  const auto shares = data.shares();
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.05), {.iterations = 3, .tolerance = 0});
  const auto first = algorithm->begin(masked_facts(shares));
  int tried = 0;
  MaskedTaps taps;
  taps.answered = [&](const auto& iterate, int party, const auto&, const auto& memory) {
    auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
    auto task = algorithm->ask(iterate, party);
    for (double& weight : task->weights) weight += 1;
    MaskedDescent::Memory back = restarted(memory);
    const auto again = algorithm->answer(*task, shares[static_cast<std::size_t>(party)], back, gate);
    EXPECT_FALSE(again) << "step " << iterate.step << " of index " << iterate.index;
    EXPECT_EQ(wire::encode(back), wire::encode(memory)) << "a refusal leaves no trace";
    ++tried;
  };
  const MaskedRun run = run_masked(*algorithm, *first, shares, taps);
  ASSERT_FALSE(run.error) << run.error->message;
  EXPECT_GT(tried, 30);
}

TEST(MaskedDescent, ItGoesOnAfterARestartOfEverybodyToTheSameModel) {
  const MaskedData data(50, {3, 3}, 29);
  const auto shares = data.shares();
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.05), {.iterations = 4, .tolerance = 0});
  const auto first = algorithm->begin(masked_facts(shares));
  const MaskedRun whole = run_masked(*algorithm, *first, shares);
  MaskedDescent::Iterate iterate = *first;
  std::vector<MaskedDescent::Memory> memories(2);
  while (!algorithm->done(iterate)) {
    iterate = *wire::decode<MaskedDescent::Iterate>(wire::encode(iterate), wire::Numbers::kAny);
    std::vector<rounds::Answer<MaskedDescent::Reply>> answers;
    for (int p = 0; p < 2; ++p) {
      const auto task = algorithm->ask(iterate, p);
      if (!task) continue;
      auto& memory = memories[static_cast<std::size_t>(p)];
      memory = restarted(memory);
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      const auto reply = algorithm->answer(*task, shares[static_cast<std::size_t>(p)], memory, gate);
      ASSERT_TRUE(reply) << reply.error().message;
      answers.push_back({p, reply->value()});
    }
    iterate = *absorbed(*algorithm, iterate, answers);
  }
  EXPECT_EQ(iterate.parameters, whole.iterate.parameters);
}

TEST(MaskedDescent, RingsThatCouldOverflowAreRefusedAtTheStart) {
  const MaskedData data(50, {3, 3}, 29);
  const auto shares = data.shares();
  auto algorithm = MaskedDescent::make(masked_terms(2, 0.05), {.feature_bits = 22, .bits = 42});
  const auto first = algorithm->begin(masked_facts(shares));
  ASSERT_FALSE(first);
  EXPECT_NE(first.error().message.find("overflow"), std::string::npos) << first.error().message;
}

TEST(MaskedDescent, TakesPenaltiesAndSetsByStepsOnTheOpenedGradient) {
  const MaskedData data(120, {4, 4}, 37);
  const auto shares = data.shares();
  const linalg::Matrix whole = whole_of(data);
  for (const bool ball : {false, true}) {
    auto terms = masked_terms(2, 0.01);
    if (ball)
      terms.objective.l1_radius = 1.0;
    else
      terms.objective.l1 = 0.02;
    auto algorithm = MaskedDescent::make(terms, {.iterations = 600});
    const auto first = algorithm->begin(masked_facts(shares));
    const MaskedRun run = run_masked(*algorithm, *first, shares);
    ASSERT_FALSE(run.error) << run.error->message;
    const auto fit = exact({whole, data.labels, terms.objective}, {}, {});
    ASSERT_TRUE(fit) << fit.error().message;
    EXPECT_NEAR(glm::evaluate(terms.objective, whole, data.labels, run.iterate.parameters), fit->objective, 1e-6);
    EXPECT_TRUE(glm::feasible(terms.objective, run.iterate.parameters, {}, 1e-9));
  }
  auto terms = masked_terms(2, 0.01);
  terms.objective.sparsity = 3;
  auto algorithm = MaskedDescent::make(terms, {.iterations = 100});
  const auto first = algorithm->begin(masked_facts(shares));
  const MaskedRun run = run_masked(*algorithm, *first, shares);
  ASSERT_FALSE(run.error) << run.error->message;
  EXPECT_TRUE(glm::feasible(terms.objective, run.iterate.parameters, {}));
}

// Labels that are numbers: no series, and the same exact sums.
TEST(MaskedDescent, SolvesLeastSquaresExactly) {
  MaskedData data(150, {3, 3}, 41);
  for (std::size_t i = 0; i < data.labels.size(); ++i)
    data.labels[i] = 0.7 * data.features[0].at(static_cast<linalg::Index>(i), 1) -
                     0.4 * data.features[1].at(static_cast<linalg::Index>(i), 0) + 0.1 * data.labels[i];
  const auto shares = data.shares();
  auto terms = masked_terms(2, 0.01);
  terms.objective.task = glm::Task::kLinear;
  auto algorithm = MaskedDescent::make(terms, {.iterations = 600, .tolerance = 1e-9});
  ASSERT_TRUE(algorithm) << algorithm.error().message;
  const auto first = algorithm->begin(masked_facts(shares));
  ASSERT_TRUE(first) << first.error().message;
  const MaskedRun run = run_masked(*algorithm, *first, shares);
  ASSERT_FALSE(run.error) << run.error->message;
  const linalg::Matrix whole = whole_of(data);
  const auto fit = exact({whole, data.labels, terms.objective}, {}, {});
  ASSERT_TRUE(fit);
  for (std::size_t j = 0; j < 6; ++j) EXPECT_NEAR(run.iterate.parameters[j], fit->weights[j], 1e-5);
}
