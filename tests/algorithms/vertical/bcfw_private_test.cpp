#include <gtest/gtest.h>

#include <cmath>

#include "parley/algorithms/vertical/bcfw.h"
#include "parley/algorithms/vertical/private_selection.h"
#include "parley/data/random.h"
#include "parley/linalg/vectors.h"
#include "tests/algorithms/federation.h"
#include "tests/algorithms/test_site.h"

using namespace parley;
using namespace parley::algorithms;
using linalg::Index;
using linalg::Matrix;

namespace {

constexpr int kRecords = 200;

Matrix within_bounds(Index rows, Index columns, data::Random& random) {
  std::vector<double> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (double& v : values) v = std::round(64 * (2 * random.uniform() - 1)) / 64;
  return Matrix::from_dense(rows, columns, values);
}

ColumnShare party(const TestSite& site, std::vector<double> labels = {}) {
  const algorithms::Problem problem = site.problem({}, {});
  return {problem.features, std::move(labels), false, problem.privacy};
}

RunTerms terms() {
  return {.objective = {.task = glm::Task::kLogistic, .l1_radius = 4},
          .seed = 3,
          .parties = 2,
          .is_private = true,
          .public_labels = true};
}

// What the parties say of themselves before the first round.
std::vector<PartyFacts> facts_of(const std::vector<ColumnShare>& shares, const std::vector<privacy::Plan>& plans) {
  std::vector<PartyFacts> facts;
  for (std::size_t k = 0; k < shares.size(); ++k)
    facts.push_back({.party = static_cast<int>(k),
                     .records = shares[k].features.rows(),
                     .columns = static_cast<std::size_t>(shares[k].features.cols()),
                     .labels = !shares[k].labels.empty(),
                     .plan = plans[k]});
  return facts;
}

struct Two {
  Matrix left, right;
  std::vector<double> labels;
};

Two two_parties(std::uint64_t seed) {
  data::Random random(seed, 1, 1);
  Two two{within_bounds(kRecords, 3, random), within_bounds(kRecords, 4, random), {}};
  for (Index i = 0; i < kRecords; ++i)
    two.labels.push_back(two.left.at(i, 1) - 0.7 * two.right.at(i, 2) + 0.2 > 0 ? 1 : -1);
  return two;
}

struct Ran {
  std::vector<Index> picks;
  std::vector<double> parameters;
  std::size_t columns_sent = 0;
  std::vector<Bcfw::Memory> memories;
};

struct Drawn {
  std::int64_t indices = 0, others = 0;
};

// What a site was charged for.
Drawn drawn(const TestSite& site) {
  Drawn drawn;
  for (const privacy::Event& event : site.gate().charged().events)
    (std::holds_alternative<privacy::Exponential>(event.mechanism) ? drawn.indices : drawn.others) += event.count;
  return drawn;
}

double epsilon_of(std::initializer_list<const TestSite*> sites) {
  privacy::Plan all;
  for (const TestSite* site : sites)
    for (const privacy::Event& event : site->gate().charged().events) all.events.push_back(event);
  return privacy::epsilon_at(all, *privacy::Delta::make(1e-6)).value_or(1e300);
}

Ran ran(const BcfwSettings& settings, const std::vector<ColumnShare>& shares) {
  Ran result;
  auto algorithm = Bcfw::make(terms(), settings);
  EXPECT_TRUE(algorithm) << algorithm.error().message;
  result.memories.resize(2);
  std::vector<privacy::Plan> plans;
  for (std::size_t k = 0; k < 2; ++k) {
    const auto reserved = algorithm->reserve(shares[k], result.memories[k], *shares[k].privacy->gate);
    EXPECT_TRUE(reserved) << reserved.error().message;
    if (!reserved) return result;
    plans.push_back(shares[k].privacy->gate->charged());
  }
  auto iterate = algorithm->begin(facts_of(shares, plans));
  EXPECT_TRUE(iterate) << iterate.error().message;
  while (!algorithm->done(*iterate)) {
    std::vector<rounds::Answer<Bcfw::Reply>> answers;
    for (int k = 0; k < 2; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const auto task = algorithm->ask(*iterate, k);
      if (!task) continue;
      const auto reply = algorithm->answer(*task, shares[at], result.memories[at], *shares[at].privacy->gate);
      EXPECT_TRUE(reply) << reply.error().message;
      if (!reply) return result;
      for (const Index pick : reply->value().picks) result.picks.push_back(pick);
      result.columns_sent += reply->value().features.size();
      answers.push_back({k, reply->value()});
    }
    iterate = tests::absorbed(*algorithm, std::move(*iterate), answers);
    EXPECT_TRUE(iterate) << iterate.error().message;
    if (!iterate) return result;
  }
  result.parameters = iterate->parameters;
  return result;
}

}  // namespace

TEST(PrivateBcfw, EqualsTheOpenMethodWhenEpsilonIsAMillion) {
  const Two two = two_parties(1);
  const std::vector<BcfwSettings> forms = {
      {.iterations = 12, .offset = false, .share = 0.5},
      {.iterations = 12, .sharing = BcfwSettings::Sharing::kAtStart, .offset = false, .share = 0.5},
      {.iterations = 12, .ball = BcfwSettings::Ball::kGlobal, .offset = false, .share = 0.5}};
  for (const BcfwSettings& settings : forms) {
    TestSite one(two.left, {.epsilon = 1e6}), other(two.right, {.epsilon = 1e6});
    const Ran noisy = ran(settings, {party(one, two.labels), party(other)});
    RunTerms open = terms();
    open.is_private = false;
    auto algorithm = Bcfw::make(open, settings);
    const std::vector<ColumnShare> shares = {{two.left, two.labels}, {two.right, {}}};
    auto begun = algorithm->begin(facts_of(shares, {{}, {}}));
    const auto plain = tests::federate(*algorithm, *begun, shares);
    ASSERT_TRUE(plain);
    ASSERT_EQ(noisy.parameters.size(), plain->parameters.size());
    for (std::size_t j = 0; j < noisy.parameters.size(); ++j)
      EXPECT_NEAR(noisy.parameters[j], plain->parameters[j], 1e-12) << "the same indices were drawn";
  }
}

TEST(PrivateBcfw, TheModelIsAFunctionOfReleasedValues) {
  const Two two = two_parties(2), others = two_parties(77);
  for (const auto ball : {BcfwSettings::Ball::kPerParty, BcfwSettings::Ball::kGlobal})
    for (const double share : {0.5, 1.0}) {
      const BcfwSettings settings{.iterations = 6, .ball = ball, .sketch = share < 1 ? 16 : 0, .share = share};
      TestSite one(two.left, {.epsilon = 2, .seed = 5}), other(two.right, {.epsilon = 2, .seed = 6});
      const Ran first = ran(settings, {party(one, two.labels), party(other)});
      // Different people and the same transcript; the labels are public.
      TestSite again(others.left, {.epsilon = 2}, one.gate().transcript());
      TestSite other_again(others.right, {.epsilon = 2}, other.gate().transcript());
      const Ran replayed = ran(settings, {party(again, two.labels), party(other_again)});
      EXPECT_EQ(replayed.parameters, first.parameters);
      EXPECT_EQ(replayed.memories[1].weights, first.memories[1].weights);
      EXPECT_TRUE(first.memories[0].released && first.memories[1].released);
    }
}

TEST(PrivateBcfw, ChargesEveryIndexColumnAndTheBaseRateOfAllParties) {
  const Two two = two_parties(3);
  TestSite one(two.left, {.epsilon = 1}), other(two.right, {.epsilon = 1});
  const Ran fit = ran({.iterations = 5, .share = 0.5}, {party(one, two.labels), party(other)});
  ASSERT_EQ(fit.picks.size(), 10u);
  EXPECT_LE(fit.columns_sent, 8u) << "the last step sends no column";
  privacy::Plan all;
  for (const TestSite* site : {&one, &other}) {
    const auto& events = site->gate().charged().events;
    const bool labels = site == &one;
    EXPECT_EQ(drawn(*site).indices, 5);
    EXPECT_EQ(drawn(*site).others, labels ? 3 + 1 : 4) << "columns, or steps but one; and the base rate";
    all.events.insert(all.events.end(), events.begin(), events.end());
  }
  const auto spent = privacy::epsilon_at(all, *privacy::Delta::make(1e-6));
  ASSERT_TRUE(spent);
  EXPECT_LE(*spent, 1.0);
  EXPECT_GE(*spent, 0.8);
  // Without columns every party draws alike, and the whole budget is used.
  TestSite left(two.left, {.epsilon = 1}), right(two.right, {.epsilon = 1});
  ran({.iterations = 5, .share = 1.0}, {party(left, two.labels), party(right)});
  all.events = left.gate().charged().events;
  for (const auto& event : right.gate().charged().events) all.events.push_back(event);
  EXPECT_LE(*privacy::epsilon_at(all, *privacy::Delta::make(1e-6)), 1.0);
  EXPECT_GE(*privacy::epsilon_at(all, *privacy::Delta::make(1e-6)), 0.98);
}

// A party's width decides how many steps it suggests, and no party knows that of another. With noise brought down to
// what K plans like one's own may cost, these two would spend 1.06.
TEST(PrivateBcfw, PartiesThatSuggestDifferentNumbersOfStepsStayWithinEpsilonTogether) {
  data::Random random(8, 1, 1);
  constexpr Index kMany = 1300;
  TestSite narrow(within_bounds(kMany, 2, random), {.epsilon = 1}),
      wide(within_bounds(kMany, 400, random), {.epsilon = 1});
  const std::vector<double> labels(static_cast<std::size_t>(kMany), 1.0);
  const auto algorithm = Bcfw::make(terms(), {});
  for (const auto& [site, known] : {std::pair{&narrow, labels}, std::pair{&wide, std::vector<double>{}}}) {
    const ColumnShare share = party(*site, known);
    Bcfw::Memory memory;
    ASSERT_TRUE(algorithm->reserve(share, memory, *share.privacy->gate));
  }
  EXPECT_EQ(drawn(narrow).indices, 50);
  EXPECT_EQ(drawn(wide).indices, 2);
  EXPECT_LE(epsilon_of({&narrow, &wide}), 1.0);
}

TEST(PrivateBcfw, ComparesPartiesOverOneBallWithinEpsilon) {
  const Two two = two_parties(3);
  for (const double share : {0.5, 1.0}) {
    TestSite one(two.left, {.epsilon = 1}), other(two.right, {.epsilon = 1});
    const Ran fit = ran({.iterations = 5, .ball = BcfwSettings::Ball::kGlobal, .share = share},
                        {party(one, two.labels), party(other)});
    ASSERT_EQ(fit.picks.size(), 10u);
    EXPECT_EQ(drawn(other).indices, 5);
    EXPECT_EQ(drawn(other).others, 5 + (share < 1 ? 4 : 0)) << "a comparison a step, and columns";
    EXPECT_LE(fit.columns_sent, share < 1 ? 4u : 0u) << "of the winner alone, and none in the last step";
    EXPECT_LE(epsilon_of({&one, &other}), 1.0);
    EXPECT_GE(epsilon_of({&one, &other}), share < 1 ? 0.8 : 0.98);
    double size = 0;
    for (std::size_t j = 0; j < 7; ++j) size += std::abs(fit.parameters[j]);
    EXPECT_LE(size, 4 + 1e-12) << "one ball";
  }
}

// The noise of a comparison, told to 1 % by 20,000 draws; 7 % is nine deviations of that, and noise of 80 % would fail.
TEST(PrivateBcfw, DrawsTheNoiseOfAComparisonThatItPaysFor) {
  constexpr int kDraws = 5000;
  data::Random random(9, 1, 1);
  TestSite site(within_bounds(64, 2, random), {.epsilon = 50});
  const ColumnShare share = party(site);
  const FeatureSpace space(64, 0, linalg::SketchKind::kGaussian, 1);
  const BcfwSettings settings{.iterations = kDraws, .ball = BcfwSettings::Ball::kGlobal, .share = 1.0};
  const auto paid = PrivateSelection::reserve(share, {.settings = settings, .parties = 2, .radius = 1, .space = space},
                                              *share.privacy->gate);
  ASSERT_TRUE(paid) << paid.error().message;
  const std::vector<double> derivatives(64, 0.0);
  double squares = 0;
  for (int t = 0; t < kDraws; ++t) {
    const auto chosen = (*paid)->select(derivatives, *share.privacy->gate);
    ASSERT_TRUE(chosen);
    const auto about = (*paid)->gradient(std::abs(chosen->value()) - 1, *share.privacy->gate);
    ASSERT_TRUE(about) << about.error().message;
    squares += about->value() * about->value() / kDraws;
  }
  for (const privacy::Event& event : site.gate().charged().events)
    if (const auto* paid_for = std::get_if<privacy::Gaussian>(&event.mechanism)) {
      const double deviation = paid_for->sigma / paid_for->sensitivity * 2 * 1.0 / 64;  // 2 B R / n
      EXPECT_NEAR(std::sqrt(squares) / deviation, 1, 0.07);
    }
}

TEST(PrivateBcfw, ABudgetThatHoldsFewerColumnsEndsTheRunWithTheLastOne) {
  data::Random random(10, 1, 1);
  const Matrix features = within_bounds(kRecords, 30, random);
  TestSite full(features, {.epsilon = 1, .budget = 0.5}), less(features, {.epsilon = 1, .budget = 0.35});
  std::vector<std::int64_t> steps;
  for (const TestSite* site : {&full, &less}) {
    const ColumnShare share = party(*site);
    Bcfw::Memory memory;
    const auto algorithm = Bcfw::make(terms(), {.iterations = 12, .share = 0.5});
    const auto reserved = algorithm->reserve(share, memory, *share.privacy->gate);
    ASSERT_TRUE(reserved) << reserved.error().message;
    steps.push_back(memory.paid->steps());
    EXPECT_EQ(drawn(*site).indices, steps.back());
    EXPECT_EQ(drawn(*site).others, steps.back() - 1) << "a column of every step but the last";
  }
  EXPECT_LE(epsilon_of({&less}), 0.35);
  EXPECT_LT(steps[1], steps[0]);
  EXPECT_GT(steps[1], 1);
}

TEST(PrivateBcfw, SaysThatABudgetCutWhatItChoseItself) {
  const Two two = two_parties(3);
  const std::vector<ColumnShare> shares = {{two.left, two.labels}, {two.right, {}}};
  const auto cut = [&](std::vector<std::int64_t> paid, std::vector<std::int64_t> missing,
                       const BcfwSettings& settings) {
    auto algorithm = Bcfw::make(terms(), settings);
    std::vector<privacy::Plan> plans;
    for (const std::int64_t steps : paid) plans.push_back({.events = {{privacy::Exponential{0.1}, steps}}});
    std::vector<PartyFacts> facts = facts_of(shares, plans);
    for (std::size_t k = 0; k < facts.size(); ++k) facts[k].missing_steps = missing[k];
    EXPECT_TRUE(algorithm->begin(facts));
    return algorithm->cut_short();
  };
  EXPECT_FALSE(cut({20, 50}, {0, 0}, {}));
  EXPECT_TRUE(cut({20, 7}, {0, 13}, {}));
  EXPECT_FALSE(cut({10, 20}, {0, 30}, {})) << "the other party wants no more than it has";
  EXPECT_TRUE(cut({10, 20}, {10, 0}, {.iterations = 20}));
}

TEST(PrivateBcfw, RefusesATransformOfMoreRowsThanItHas) {
  const Two two = two_parties(6);
  TestSite site(two.right, {.epsilon = 1});
  const ColumnShare share = party(site);
  const auto algorithm = Bcfw::make(terms(), {.sketch = 257, .kind = linalg::SketchKind::kHadamard});
  Bcfw::Memory memory;
  const auto reserved = algorithm->reserve(share, memory, *share.privacy->gate);
  ASSERT_FALSE(reserved);
  EXPECT_NE(reserved.error().message.find("brought up to a power of two, 256"), std::string::npos);
}

TEST(PrivateBcfw, AnswersNoMoreThanWasPaidForAndNothingElse) {
  const Two two = two_parties(4);
  TestSite site(two.right, {.epsilon = 1});
  const ColumnShare share = party(site);
  const auto algorithm = Bcfw::make(terms(), {.iterations = 2, .share = 1.0});
  Bcfw::Memory memory;
  privacy::Gate& gate = *share.privacy->gate;
  Bcfw::Task task{.phase = Bcfw::kPick};
  task.weights.size = 4;
  EXPECT_FALSE(algorithm->answer(task, share, memory, gate)) << "labels are missing";
  task.labels = two.labels;
  task.weights.size = 3;
  EXPECT_FALSE(algorithm->answer(task, share, memory, gate)) << "a weight is missing";
  task.weights.size = 4;
  task.others = {1, 2};
  EXPECT_FALSE(algorithm->answer(task, share, memory, gate));
  task.others.clear();
  EXPECT_TRUE(algorithm->answer(task, share, memory, gate));
  task.labels.clear();
  EXPECT_TRUE(algorithm->answer(task, share, memory, gate));
  EXPECT_FALSE(algorithm->answer(task, share, memory, gate)) << "two indices were paid for";
  EXPECT_FALSE(algorithm->answer({.phase = Bcfw::kFetch, .columns = {0}}, share, memory, gate));
  EXPECT_FALSE(algorithm->answer({.phase = Bcfw::kColumns}, share, memory, gate));
  EXPECT_EQ(site.gate().releases(), 2);
}

TEST(PrivateBcfw, RefusesRunsThatCannotLearnAndSettingsThatLookAtData) {
  const Two two = two_parties(5);
  TestSite tiny(two.left, {.epsilon = 0.01});
  const ColumnShare share = party(tiny, two.labels);
  const auto algorithm = Bcfw::make(terms(), {});
  Bcfw::Memory memory;
  const auto reserved = algorithm->reserve(share, memory, *share.privacy->gate);
  ASSERT_FALSE(reserved);
  EXPECT_NE(reserved.error().message.find("it needs about"), std::string::npos) << reserved.error().message;
  EXPECT_TRUE(tiny.gate().charged().events.empty());
  const auto refuses = [](const RunTerms& run, const BcfwSettings& settings) {
    return !Bcfw::check_private(run, settings);
  };
  EXPECT_FALSE(refuses(terms(), {}));
  RunTerms hidden = terms();
  hidden.public_labels = false;
  EXPECT_TRUE(refuses(hidden, {}));
  hidden = terms();
  hidden.neighbours = privacy::Neighbours::kAddRemove;
  EXPECT_TRUE(refuses(hidden, {}));
  EXPECT_TRUE(refuses(terms(), {.step = BcfwSettings::Step::kLineSearch}));
  EXPECT_FALSE(refuses(terms(), {.ball = BcfwSettings::Ball::kGlobal}));
  RunTerms printed = terms();
  printed.calibration = privacy::Calibration::kPaper;
  EXPECT_TRUE(refuses(printed, {.ball = BcfwSettings::Ball::kGlobal}));
  EXPECT_TRUE(refuses(terms(), {.sampling = {.kind = Sampling::kUniformSerial}}));
  EXPECT_TRUE(refuses(terms(), {.share = 1.0, .own = BcfwSettings::Own::kShared}));
}

// The theorem through the maps that are used: neighbours at opposite bounds come as far apart as it says, and none
// farther.
TEST(PrivateBcfw, OneRecordMovesAColumnByItsSensitivityAtMost) {
  data::Random random(6, 1, 1);
  double tightest = 0;
  for (const auto kind : {linalg::SketchKind::kGaussian, linalg::SketchKind::kHadamard, linalg::SketchKind::kOsnap,
                          linalg::SketchKind::kCountSketch})
    for (int trial = 0; trial < 40; ++trial) {
      const Index rows = 2 + trial % 30;
      const FeatureSpace space(static_cast<std::size_t>(rows), 1 + trial % 2, kind, static_cast<std::uint64_t>(trial));
      const auto bound = privacy::sketched_column_sensitivity({.bound = 1, .column_norm = space.column_norm()});
      ASSERT_TRUE(bound);
      std::vector<double> values(static_cast<std::size_t>(rows));
      for (double& v : values) v = 2 * random.uniform() - 1;
      for (Index i = 0; i < rows; ++i) {
        const auto at = static_cast<std::size_t>(i);
        std::vector<double> one(values), other(values);
        one[at] = 1, other[at] = trial % 2 == 0 ? -1 : random.uniform();
        auto moved = space.numbers_of({Matrix::from_dense(rows, 1, one), {}}, 0);
        linalg::axpy(-1.0, space.numbers_of({Matrix::from_dense(rows, 1, other), {}}, 0), moved);
        ASSERT_LE(linalg::l2_norm(moved), bound->value() * (1 + 1e-12));
        tightest = std::max(tightest, linalg::l2_norm(moved) / bound->value());
      }
    }
  EXPECT_GT(tightest, 0.999);
}

// 4,096 entries tell a deviation to 1.1 %; 7 % is six deviations, and noise of 80 % would fail.
TEST(PrivateBcfw, DrawsTheNoiseOfAColumnThatItPaysFor) {
  data::Random random(7, 1, 1);
  TestSite site(within_bounds(4096, 2, random), {.epsilon = 4});
  const ColumnShare share = party(site);
  const FeatureSpace space(4096, 0, linalg::SketchKind::kGaussian, 1);
  const BcfwSettings settings{.iterations = 3, .share = 0.5};
  const auto paid = PrivateSelection::reserve(share, {.settings = settings, .parties = 2, .radius = 1, .space = space},
                                              *share.privacy->gate);
  ASSERT_TRUE(paid) << paid.error().message;
  std::vector<double> numbers = space.numbers_of(share, 1);
  const auto sent = (*paid)->column(numbers, 1, *share.privacy->gate);
  ASSERT_TRUE(sent) << sent.error().message;
  ASSERT_TRUE(space.check(sent->value()));
  std::vector<double> noise(4096);
  axpy(1.0, sent->value(), noise);
  linalg::axpy(-1.0, numbers, noise);
  double paid_for = 0;  // of entries of at most 1
  for (const privacy::Event& event : site.gate().charged().events)
    if (const auto* column = std::get_if<privacy::Gaussian>(&event.mechanism))
      paid_for = 2 * column->sigma / column->sensitivity;
  EXPECT_NEAR(linalg::l2_norm(noise) / std::sqrt(4096.0) / paid_for, 1, 0.12);
  EXPECT_GT(linalg::l2_norm(noise) / std::sqrt(4096.0) / paid_for, 0.93);
  EXPECT_EQ(sent->value().values.size(), 4096 * linalg::width(static_cast<linalg::Storage>(sent->value().storage)));
}
