#include <gtest/gtest.h>

#include <cmath>

#include "parley/algorithms/parts/fit.h"
#include "parley/algorithms/vertical/admm_sharing.h"
#include "parley/algorithms/vertical/private_sharing.h"
#include "parley/algorithms/vertical/ridge_factor.h"
#include "parley/data/random.h"
#include "parley/linalg/vectors.h"
#include "tests/algorithms/federation.h"
#include "tests/algorithms/test_site.h"

using namespace parley;
using namespace parley::algorithms;
using linalg::Index;
using linalg::Matrix;

namespace {

// Rows of norm at most 1, as the sites of these tests declare.
Matrix rows_in_the_ball(Index rows, Index columns, data::Random& random) {
  std::vector<double> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  const double reach = 1 / std::sqrt(static_cast<double>(columns));
  for (double& v : values)
    v = reach * (random.uniform() < 0.3 ? (random.uniform() < 0.5 ? -1 : 1) : 2 * random.uniform() - 1);
  return Matrix::from_dense(rows, columns, values);
}

ColumnShare party(const TestSite& site, std::vector<double> labels = {}) {
  const Problem problem = site.problem({}, {});
  return {problem.features, std::move(labels), false, problem.privacy};
}

glm::Objective ridge(double l2) {
  return {.task = glm::Task::kLinear, .l2 = l2};
}

std::shared_ptr<const PrivateSharing> reserved(const ColumnShare& share, const AdmmSettings& settings, double l2,
                                               int parties) {
  const double ridge = l2 * static_cast<double>(share.features.rows()) / settings.rho;
  const auto made =
      PrivateSharing::reserve(share, {settings, glm::Task::kLinear, ridge, parties}, *share.privacy->gate);
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

}  // namespace

TEST(PrivateAdmmSharing, EqualsItsOpenTwinWhenEpsilonIsAMillion) {
  data::Random random(3, 1, 1);
  const Matrix left = rows_in_the_ball(50, 3, random), right = rows_in_the_ball(50, 4, random);
  std::vector<double> labels(50);
  for (Index i = 0; i < 50; ++i) labels[static_cast<std::size_t>(i)] = 0.8 * left.at(i, 0) - 0.6 * right.at(i, 1);
  TestSite one(left, {.epsilon = 1e6}), two(right, {.epsilon = 1e6});
  const std::vector<ColumnShare> shares = {party(one, labels), party(two)};
  const auto algorithm = AdmmSharing::make(
      ridge(0.01), {.rounds = 30, .rho = 2, .tolerance = 0, .value_bound = 1, .public_labels = true}, 2);
  std::vector<AdmmSharing::Memory> memories(2), open(2);
  auto at = algorithm->start(), twin = at;
  while (!algorithm->done(at)) {
    std::vector<rounds::Answer<AdmmSharing::Reply>> noisy, plain;
    for (int m = 0; m < 2; ++m) {
      const auto reply =
          algorithm->answer(*algorithm->ask(at, m), shares[static_cast<std::size_t>(m)],
                            memories[static_cast<std::size_t>(m)], *shares[static_cast<std::size_t>(m)].privacy->gate);
      ASSERT_TRUE(reply) << reply.error().message;
      noisy.push_back({m, reply->value()});
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      ColumnShare unprotected = shares[static_cast<std::size_t>(m)];
      unprotected.privacy = nullptr;
      plain.push_back(
          {m,
           algorithm->answer(*algorithm->ask(twin, m), unprotected, open[static_cast<std::size_t>(m)], gate)->value()});
    }
    at = *tests::absorbed(*algorithm, at, noisy);
    twin = *tests::absorbed(*algorithm, twin, plain);
  }
  for (std::size_t m = 0; m < 2; ++m)
    for (std::size_t j = 0; j < memories[m].weights.size(); ++j)
      EXPECT_NEAR(memories[m].weights[j], open[m].weights[j], 0.05);
  EXPECT_GT(linalg::linf_norm(open[0].weights), 0.4);
}

// The theorem, through the code that relies on it: random and extreme neighbours never move the shared values farther.
TEST(PrivateAdmmSharing, OneRecordMovesTheSharedValuesByItsSensitivityAtMost) {
  data::Random random(5, 1, 1);
  double tightest = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Index rows = 3 + trial % 9, columns = 1 + trial % 4;
    const AdmmSettings settings{.rounds = 1, .rho = trial % 2 == 0 ? 0.5 : 4.0, .value_bound = 1};
    const double l2 = trial % 3 == 0 ? 0.02 : 0.5;
    const Matrix features = rows_in_the_ball(rows, columns, random);
    TestSite site(features, {});
    const ColumnShare share = party(site);
    const auto paid = reserved(share, settings, l2, 1);
    std::vector<double> target(static_cast<std::size_t>(rows));
    for (double& t : target) t = trial % 4 == 0 ? (random.uniform() < 0.5 ? -9 : 9) : 3 * random.normal();

    std::vector<double> values(static_cast<std::size_t>(rows * columns));
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j) values[static_cast<std::size_t>(j * rows + i)] = features.at(i, j);
    const double reach = 1 / std::sqrt(static_cast<double>(columns));
    for (Index j = 0; j < columns; ++j)
      values[static_cast<std::size_t>(j * rows)] =
          trial % 5 == 0 ? -values[static_cast<std::size_t>(j * rows)] : (random.uniform() < 0.5 ? -reach : reach);
    const ColumnShare neighbour{Matrix::from_dense(rows, columns, values), {}, false, share.privacy};

    const double ridge = l2 * rows / settings.rho;
    const auto shared = [&](const ColumnShare& from) {
      auto out = margins_of(from, RidgeFactor::make(from, ridge)->solve(from, paid->clipped_target(target)));
      for (double& v : out) v = std::clamp(v, -1.0, 1.0);
      return out;
    };
    auto difference = shared(share);
    linalg::axpy(-1.0, shared(neighbour), difference);
    const double moved = linalg::l2_norm(difference);
    ASSERT_LE(moved, paid->sensitivity()) << "trial " << trial;
    tightest = std::max(tightest, moved / paid->sensitivity());
  }
  EXPECT_GT(tightest, 0.2) << "the search comes near enough to notice a bound that is far too small";
}

// Likewise of the weights that a party ends with.
TEST(PrivateAdmmSharing, OneRecordMovesThePartByItsSensitivityAtMost) {
  data::Random random(6, 1, 1);
  double tightest = 0;
  for (int trial = 0; trial < 36; ++trial) {
    const Index rows = 1 + trial % 9, columns = 1 + trial % 4;
    const AdmmSettings settings{
        .rounds = 1, .rho = trial % 2 == 0 ? 0.05 : 1.0, .value_bound = 1, .release_parts = true};
    const double l2 = trial % 3 == 0 ? 0.1 : 1;
    const Matrix features = rows_in_the_ball(rows, columns, random);
    TestSite site(features, {});
    const ColumnShare share = party(site);
    const auto paid = reserved(share, settings, l2, 1);
    std::vector<double> target(static_cast<std::size_t>(rows));
    for (double& t : target) t = trial % 4 == 0 ? (random.uniform() < 0.5 ? -9 : 9) : 3 * random.normal();
    const double reach = 1 / std::sqrt(static_cast<double>(columns));
    std::vector<double> values(static_cast<std::size_t>(rows * columns));
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j)
        values[static_cast<std::size_t>(j * rows + i)] = i == 0 ? reach : features.at(i, j);
    const ColumnShare at_one_edge{Matrix::from_dense(rows, columns, values), {}, false, share.privacy};
    for (Index j = 0; j < columns; ++j) values[static_cast<std::size_t>(j * rows)] = -reach;
    const ColumnShare at_the_other{Matrix::from_dense(rows, columns, values), {}, false, share.privacy};
    const double ridge = l2 * rows / settings.rho;
    const auto weights = [&](const ColumnShare& from) {
      return RidgeFactor::make(from, ridge)->solve(from, paid->clipped_target(target));
    };
    for (const ColumnShare* other : {&share, &at_the_other}) {
      auto difference = weights(at_one_edge);
      linalg::axpy(-1.0, weights(*other), difference);
      const double moved = linalg::l2_norm(difference);
      ASSERT_LE(moved, paid->part_sensitivity()) << "trial " << trial;
      tightest = std::max(tightest, moved / paid->part_sensitivity());
    }
  }
  EXPECT_GT(tightest, 0.7) << "the search comes near enough to notice a bound that is too small by a third";
}

TEST(PrivateAdmmSharing, ReleasesItsPartOnceForHalfOfTheCost) {
  data::Random random(9, 1, 1);
  const Matrix features = rows_in_the_ball(40, 3, random);
  TestSite site(features, {.epsilon = 1});
  const ColumnShare share = party(site);
  const AdmmSettings settings{.rounds = 4, .rho = 1, .value_bound = 1, .public_labels = true, .release_parts = true};
  const auto algorithm = AdmmSharing::make(ridge(0.1), settings, 2);
  AdmmSharing::Memory memory;
  privacy::Gate& gate = *share.privacy->gate;
  const AdmmSharing::Task target{AdmmSharing::kTarget, 1, std::vector<double>(40, 0.5), {}};
  ASSERT_TRUE(algorithm->answer(target, share, memory, gate));
  const std::vector<double> exact = memory.weights;
  EXPECT_FALSE(memory.released);
  const auto& plan = site.gate().charged();
  ASSERT_EQ(plan.events.size(), 2u);
  EXPECT_EQ(plan.events[0].count, 1);
  EXPECT_EQ(plan.events[1].count, 4);
  const auto cost = [](const privacy::Event& event) {
    const auto& gaussian = std::get<privacy::Gaussian>(event.mechanism);
    return static_cast<double>(event.count) * std::pow(gaussian.sensitivity / gaussian.sigma, 2);
  };
  EXPECT_NEAR(cost(plan.events[0]) / cost(plan.events[1]), 1, 1e-6);

  const auto said = algorithm->answer({.phase = AdmmSharing::kPart}, share, memory, gate);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->value().values.size(), 1u);
  EXPECT_TRUE(memory.released);
  EXPECT_NE(memory.weights, exact) << "what the party ends with is what it released";
  const std::vector<double> released = memory.weights;
  EXPECT_FALSE(algorithm->answer({.phase = AdmmSharing::kPart}, share, memory, gate)) << "a part leaves once";
  EXPECT_FALSE(algorithm->answer(target, share, memory, gate)) << "and nothing is fitted after it";
  EXPECT_EQ(memory.weights, released);
}

// 4000 weights tell the deviation to 1.1 %: 7 % is six deviations, and noise of 80 % would fail.
TEST(PrivateAdmmSharing, DrawsNoiseForThePartOfTheSizeItPaysFor) {
  data::Random random(10, 1, 1);
  TestSite site(rows_in_the_ball(20, 4000, random), {.epsilon = 2});
  const ColumnShare share = party(site);
  const auto paid = reserved(share, {.rounds = 3, .rho = 1, .value_bound = 1, .release_parts = true}, 0.1, 2);
  const auto noisy = paid->release_part(privacy::Private(std::vector<double>(4000, 0.0)), *share.privacy->gate);
  ASSERT_TRUE(noisy) << noisy.error().message;
  const double deviation =
      *privacy::gaussian_noise(share.privacy->target, 2 * 2) * paid->part_sensitivity();  // half of it, of two parties
  EXPECT_NEAR(std::sqrt(linalg::squared_norm(noisy->value()) / 4000) / deviation, 1, 0.07);
}

// The part is made of released values only: whoever replays them on other data ends with the same part.
TEST(PrivateAdmmSharing, ThePartIsMadeOfReleasedValuesAlone) {
  data::Random random(11, 1, 1);
  const Matrix features = rows_in_the_ball(30, 3, random), other = rows_in_the_ball(30, 3, random);
  TestSite site(features, {.epsilon = 1}), elsewhere(other, {.epsilon = 1});
  const AdmmSettings settings{.rounds = 2, .rho = 1, .value_bound = 1, .public_labels = true, .release_parts = true};
  const auto algorithm = AdmmSharing::make(ridge(0.1), settings, 1);
  const auto end_of = [&](const ColumnShare& share, privacy::Gate& gate) {
    AdmmSharing::Memory memory;
    for (int round = 0; round < 2; ++round)
      EXPECT_TRUE(algorithm->answer({AdmmSharing::kTarget, 1, std::vector<double>(30, 0.5), {}}, share, memory, gate));
    EXPECT_TRUE(algorithm->answer({.phase = AdmmSharing::kPart}, share, memory, gate));
    return memory.weights;
  };
  const ColumnShare share = party(site);
  share.privacy->gate->keep_transcript();
  const std::vector<double> weights = end_of(share, *share.privacy->gate);
  auto replay = privacy::Gate::replay(site.gate().transcript(),
                                      {"data", privacy::Unit::kRecord, privacy::Neighbours::kReplaceOne});
  EXPECT_EQ(end_of(party(elsewhere), replay), weights);
}

// A target of zeros has values of zeros: what is released is noise alone. 4000 draws tell the deviation to 1.1 %; 7 %
// is six deviations (false alarm 2e-9), and noise of 80 % would fail.
TEST(PrivateAdmmSharing, DrawsIsotropicNoiseOfTheSizeItPaysFor) {
  data::Random random(7, 1, 1);
  const Matrix features = rows_in_the_ball(4000, 2, random);
  TestSite site(features, {.epsilon = 2});
  const ColumnShare share = party(site);
  const AdmmSettings settings{.rounds = 3, .rho = 1, .value_bound = 1};
  const auto paid = reserved(share, settings, 0.1, 2);
  const auto noisy = paid->release(privacy::Private(std::vector<double>(4000, 0.0)), *share.privacy->gate);
  ASSERT_TRUE(noisy);
  const double deviation = std::sqrt(linalg::squared_norm(noisy->value()) / 4000);
  const double multiplier = *privacy::gaussian_noise(share.privacy->target, 3 * 2);
  EXPECT_NEAR(deviation / (multiplier * paid->sensitivity()), 1, 0.07) << "calibrated for 3 rounds of 2 parties";
  // Noise inside the column space of D (two columns) would lie in a plane: all of its energy would be explained by D.
  const auto explained = margins_of(share, RidgeFactor::make(share, 1e-9)->solve(share, noisy->value()));
  EXPECT_LT(linalg::squared_norm(explained), 0.05 * linalg::squared_norm(noisy->value()));
}

TEST(PrivateAdmmSharing, ChargesEachPartyItsOwnRounds) {
  data::Random random(8, 1, 1);
  const Matrix features = rows_in_the_ball(30, 2, random);
  TestSite site(features, {.epsilon = 1});
  const ColumnShare share = party(site);
  const auto paid = reserved(share, {.rounds = 4, .rho = 1, .value_bound = 1}, 0.1, 3);
  ASSERT_EQ(site.gate().receipts().size(), 1u);
  EXPECT_EQ(site.gate().receipts()[0].steps, 4);
  EXPECT_LT(site.gate().receipts()[0].epsilon, 0.7) << "a third of the releases cost less than the whole run's epsilon";
  for (int round = 0; round < 4; ++round)
    EXPECT_TRUE(paid->release(privacy::Private(std::vector<double>(30, 0.0)), *share.privacy->gate));
  EXPECT_FALSE(paid->release(privacy::Private(std::vector<double>(30, 0.0)), *share.privacy->gate))
      << "the plan is used up";
}

TEST(PrivateAdmmSharing, LabelsMustBeDeclaredPublic) {
  data::Random random(8, 1, 1);
  TestSite site(rows_in_the_ball(10, 2, random), {});
  const ColumnShare share = party(site, std::vector<double>(10, 1.0));
  AdmmSharing::Memory memory;
  const auto secret = AdmmSharing::make(ridge(0.1), {}, 2),
             open = AdmmSharing::make(ridge(0.1), {.public_labels = true}, 2);
  EXPECT_FALSE(secret->answer({}, share, memory, *share.privacy->gate));
  EXPECT_TRUE(open->answer({}, share, memory, *share.privacy->gate));
}

namespace {

// Two parties whose sums are masked, after the round of labels and keys.
struct MaskedPair {
  explicit MaskedPair(std::uint64_t seed)
      : random(seed, 1, 1),
        left(rows_in_the_ball(200, 3, random)),
        right(rows_in_the_ball(200, 4, random)),
        one(left, {.epsilon = 50}),
        two(right, {.epsilon = 50, .seed = 2}),
        shares{party(one, std::vector<double>(200, 1.0)), party(two)} {
    RunTerms terms{.objective = ridge(0.1), .parties = 2, .is_private = true, .public_labels = true, .run = "a run"};
    AdmmSettings settings{.rounds = 3, .tolerance = 0, .value_bound = 1, .sums = AdmmSettings::Sums::kMasked};
    made = *AdmmSharing::make(terms, settings);
    terms.run = "another run";
    elsewhere = *AdmmSharing::make(terms, settings);
    iterate = made->start();
    absorb(answers());
  }
  MaskedPair(const MaskedPair&) = delete;
  AdmmSharing::Reply answer(const AdmmSharing& algorithm, std::size_t m) {
    const auto reply = algorithm.answer(*algorithm.ask(iterate, static_cast<int>(m)), shares[m], memories[m],
                                        *shares[m].privacy->gate);
    EXPECT_TRUE(reply) << reply.error().message;
    const auto believed = algorithm.check(iterate, static_cast<int>(m), reply->value());
    EXPECT_TRUE(believed) << believed.error().message;
    return reply->value();
  }
  std::vector<rounds::Answer<AdmmSharing::Reply>> answers() { return {{0, answer(*made, 0)}, {1, answer(*made, 1)}}; }
  void absorb(const std::vector<rounds::Answer<AdmmSharing::Reply>>& replies) {
    auto next = tests::absorbed(*made, iterate, replies);
    ASSERT_TRUE(next) << next.error().message;
    iterate = *next;
  }

  data::Random random;
  Matrix left, right;
  TestSite one, two;
  std::vector<ColumnShare> shares;
  std::vector<AdmmSharing::Memory> memories{2};
  std::optional<AdmmSharing> made, elsewhere;
  AdmmSharing::Iterate iterate;
};

// Words of 2^64 that are uniform have a mean of 0 and a mean square of 2^126/3; of 200 the first is off by 0.041 and the
// second by 0.032 (one deviation, in the unit of 2^63 and of its square). Five deviations: false alarm 1e-6.
void expect_uniform(const std::vector<std::int64_t>& words) {
  double mean = 0, square = 0;
  for (const std::int64_t word : words) {
    const double scaled = std::ldexp(static_cast<double>(word), -63);
    mean += scaled / static_cast<double>(words.size());
    square += scaled * scaled / static_cast<double>(words.size());
  }
  EXPECT_NEAR(mean, 0, 0.21);
  EXPECT_NEAR(square, 1.0 / 3, 0.11);
}

}  // namespace

TEST(MaskedAdmmSharing, TheCoordinatorSeesTheSumAndNothingElse) {
  MaskedPair pair(21);
  EXPECT_EQ(pair.iterate.keys.size(), 2u);
  while (!pair.made->done(pair.iterate) && pair.iterate.round <= 3) {
    const auto replies = pair.answers();
    std::vector<double> total(200, 0.0);
    for (std::size_t m = 0; m < 2; ++m) {
      EXPECT_TRUE(replies[m].reply.values.empty());
      expect_uniform(replies[m].reply.words);
      linalg::axpy(1.0, pair.memories[m].shared, total);
    }
    pair.absorb(replies);
    EXPECT_EQ(pair.iterate.sum, total) << "of what the parties released, to the bit: whole grains";
    EXPECT_TRUE(pair.iterate.shared.empty());
  }
}

// A party makes its target of its own released values and the correction: what an open run is told. So what it ends with
// follows from released values, as there, and costs what it costs there.
TEST(MaskedAdmmSharing, IsTheOpenRunUnderMasks) {
  MaskedPair pair(22);
  pair.absorb(pair.answers());
  const auto open = AdmmSharing::make(ridge(0.1), {.rounds = 3, .rho = 2, .tolerance = 0, .value_bound = 1}, 2);
  AdmmSharing::Iterate twin = open->start(std::vector<double>(200, 1.0));
  for (std::size_t m = 0; m < 2; ++m) twin.shared[m] = pair.memories[m].shared;
  twin.sum = pair.iterate.sum;
  twin.consensus = pair.iterate.consensus;
  twin.dual = pair.iterate.dual;
  twin.rho = pair.iterate.rho;
  for (int m = 0; m < 2; ++m) {
    const auto theirs = pair.made->ask(pair.iterate, m), ours = open->ask(twin, m);
    for (std::size_t i = 0; i < 200; ++i)
      EXPECT_NEAR(pair.memories[static_cast<std::size_t>(m)].shared[i] - theirs->target[i], ours->target[i], 1e-9);
  }
  EXPECT_EQ(pair.one.gate().charged().events.front().count, 1);
  EXPECT_EQ(pair.one.gate().charged().events.back().count, 3);
}

TEST(MaskedAdmmSharing, PartiesThatWereToldDifferentRunsStayMasked) {
  MaskedPair pair(23);
  pair.absorb({{0, pair.answer(*pair.made, 0)}, {1, pair.answer(*pair.elsewhere, 1)}});
  std::vector<double> total = pair.memories[0].shared;
  linalg::axpy(1.0, pair.memories[1].shared, total);
  EXPECT_GT(linalg::l2_norm(pair.iterate.sum), 1e3 * linalg::l2_norm(total));
}

TEST(MaskedAdmmSharing, AMaskIsUsedOnce) {
  MaskedPair pair(24);
  const auto kept = pair.memories[0];
  const AdmmSharing::Task task = *pair.made->ask(pair.iterate, 0);
  privacy::Gate& gate = *pair.shares[0].privacy->gate;
  ASSERT_TRUE(pair.made->answer(task, pair.shares[0], pair.memories[0], gate));
  EXPECT_FALSE(pair.made->answer(task, pair.shares[0], pair.memories[0], gate)) << "the same round again";
  auto later = task;
  later.round = 2;
  EXPECT_FALSE(pair.made->answer(later, pair.shares[0], pair.memories[0], gate)) << "a round was left out";
  later.round = 1;
  std::swap(later.keys[0], later.keys[1]);
  EXPECT_FALSE(pair.made->answer(later, pair.shares[0], pair.memories[0], gate)) << "keys are those of the first round";
}

TEST(MaskedAdmmSharing, IsRefusedWhereItWouldHideNothing) {
  const AdmmSettings masked{.rho = 1, .sums = AdmmSettings::Sums::kMasked};
  EXPECT_FALSE(AdmmSharing::make(ridge(0.1), masked, 1));
  AdmmSettings in_turn = masked;
  in_turn.order = AdmmSettings::Order::kGaussSeidel;
  EXPECT_FALSE(AdmmSharing::make(ridge(0.1), in_turn, 2));
  EXPECT_FALSE(AdmmSharing::make(RunTerms{.objective = ridge(0.1), .parties = 2}, masked)) << "the run is not private";
}
