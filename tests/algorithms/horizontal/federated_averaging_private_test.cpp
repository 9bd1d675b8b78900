#include <gtest/gtest.h>

#include <cmath>

#include "parley/algorithms/horizontal/fed_iter_ht.h"
#include "parley/algorithms/horizontal/fedavg.h"
#include "parley/algorithms/horizontal/private_local_steps.h"
#include "parley/data/random.h"
#include "parley/linalg/vectors.h"
#include "tests/algorithms/federation.h"
#include "tests/algorithms/test_site.h"

using namespace parley;
using namespace parley::algorithms;
using linalg::Index;
using linalg::Matrix;

namespace {

struct Table {
  Matrix features;
  std::vector<double> labels;
};

// Entries in [-1, 1], labels -1 and +1 by a sparse model.
Table table(Index rows, Index columns, std::uint64_t seed) {
  data::Random random(seed, 5, 5);
  std::vector<double> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (double& v : values) v = 2 * random.uniform() - 1;
  Table made{Matrix::from_dense(rows, columns, values), std::vector<double>(static_cast<std::size_t>(rows))};
  for (std::size_t i = 0; i < made.labels.size(); ++i)
    made.labels[i] = values[i] - values[made.labels.size() + i] > 0 ? 1 : -1;
  return made;
}

glm::Objective logistic(std::optional<int> sparsity) {
  glm::Objective made{.task = glm::Task::kLogistic, .l2 = 0.01};
  made.sparsity = sparsity;
  return made;
}

// A party of a private run; its site must outlive it.
RowShare party(const Table& data, const TestSite& site) {
  const Problem problem = site.problem(data.labels, logistic({}));
  return {0, problem.features, data.labels, problem.privacy};
}

template <class A>
Result<typename A::Reply> ask(const A& algorithm, const typename A::Iterate& at, const RowShare& share,
                              typename A::Memory& memory) {
  PARLEY_TRY(const auto released, algorithm.answer(algorithm.ask(at), share, memory, *share.privacy->gate));
  return released.value();
}

}  // namespace

TEST(PrivateAveraging, EqualsItsOpenTwinWhenEpsilonIsAMillion) {
  const Table data = table(400, 6, 1);
  {
    TestSite site(data.features, {.epsilon = 1e6});
    const RowShare share = party(data, site);
    RowShare open = share;
    open.privacy = nullptr;
    const auto algorithm = FedIterHt::make(logistic(3), {.rounds = 4, .local_steps = 3, .step = 0.5, .clip = 10});
    FedIterHt::Memory memory, none;
    auto at = algorithm->start(6), twin = at;
    for (int round = 0; round < 4; ++round) {
      const auto reply = ask(*algorithm, at, share, memory);
      ASSERT_TRUE(reply) << reply.error().message;
      at = *tests::absorbed(*algorithm, at, {{0, *reply}});
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      twin =
          *tests::absorbed(*algorithm, twin, {{0, algorithm->answer(algorithm->ask(twin), open, none, gate)->value()}});
    }
    for (std::size_t j = 0; j < 6; ++j) EXPECT_NEAR(at.parameters[j], twin.parameters[j], 1e-3) << j;
    EXPECT_GT(linalg::linf_norm(at.parameters), 0.1);
  }
}

TEST(PrivateAveraging, IsMadeOfReleasedValuesOnly) {
  const Table data = table(60, 5, 2), other = table(60, 5, 3);
  const auto algorithm = FedIterHt::make(logistic(2), {.rounds = 2, .local_steps = 3, .step = 0.5, .batch = 20});
  const auto two_rounds = [&](const Table& from, TestSite& site) {
    const RowShare share = party(from, site);
    FedIterHt::Memory memory;
    auto at = algorithm->start(5);
    for (int round = 0; round < 2; ++round)
      at = *tests::absorbed(*algorithm, at, {{0, *ask(*algorithm, at, share, memory)}});
    return at.parameters;
  };
  TestSite site(data.features, {});
  const auto learnt = two_rounds(data, site);
  TestSite replayed(other.features, {}, site.gate().transcript());
  EXPECT_EQ(two_rounds(other, replayed), learnt);
}

TEST(PrivateAveraging, PaysForTheWholeRunBeforeItsFirstStep) {
  const Table data = table(50, 4, 4);
  TestSite site(data.features, {.epsilon = 1});
  const RowShare share = party(data, site);
  const auto algorithm = FedAvg::make(logistic({}), {.rounds = 5, .local_steps = 4, .step = 0.1, .batch = 10});
  FedAvg::Memory memory;
  ASSERT_TRUE(ask(*algorithm, algorithm->start(4), share, memory));
  ASSERT_EQ(site.gate().receipts().size(), 1u);
  EXPECT_EQ(site.gate().receipts()[0].steps, 5) << "rounds";
  ASSERT_EQ(site.gate().charged().events.size(), 1u);
  EXPECT_EQ(site.gate().charged().events[0].count, 20) << "5 rounds of 4 steps";
  EXPECT_LE(site.gate().receipts()[0].epsilon, 1.0);
  EXPECT_GT(site.gate().receipts()[0].epsilon, 0.9);
  EXPECT_EQ(site.gate().releases(), 4);
}

TEST(PrivateAveraging, StopsWhereTheSitesBudgetEnds) {
  const Table data = table(50, 4, 4);
  TestSite site(data.features, {.epsilon = 1, .budget = 0.6});
  const RowShare share = party(data, site);
  const auto algorithm = FedAvg::make(logistic({}), {.rounds = 40, .local_steps = 1, .step = 0.1});
  FedAvg::Memory memory;
  int answered = 0;
  for (; answered < 40; ++answered) {
    const auto reply = ask(*algorithm, algorithm->start(4), share, memory);
    if (reply) continue;
    EXPECT_EQ(reply.error().fault, Fault::kBudgetEnded);
    break;
  }
  EXPECT_GE(answered, 1);
  EXPECT_LT(answered, 40);
  EXPECT_LE(site.gate().receipts()[0].epsilon, 0.6);
}

TEST(PrivateAveraging, PaysForWholeRoundsOnly) {
  const Table data = table(50, 4, 4);
  constexpr int kRounds = 6, kSteps = 5;
  int whole = 0, none = 0;
  for (const double budget : {0.05, 0.15, 0.2, 0.3, 0.45, 0.6, 0.8}) {
    TestSite site(data.features, {.epsilon = 1, .budget = budget});
    const RowShare share = party(data, site);
    const auto algorithm = FedIterHt::make(logistic(2), {.rounds = kRounds, .local_steps = kSteps, .step = 0.1});
    FedIterHt::Memory memory;
    int answered = 0;
    while (ask(*algorithm, algorithm->start(4), share, memory)) ++answered;
    const auto& charged = site.gate().charged().events;
    if (answered == 0) {
      EXPECT_TRUE(charged.empty()) << "a budget of " << budget << " was charged for a run without an answer";
      ++none;
      continue;
    }
    ASSERT_EQ(charged.size(), 1u);
    EXPECT_EQ(charged[0].count, answered * kSteps) << budget << ": every step that was paid for was answered with";
    EXPECT_EQ(site.gate().releases(), answered * kSteps);
    if (answered < kRounds) ++whole;
  }
  EXPECT_GT(none, 0) << "some budget holds a step and no round";
  EXPECT_GT(whole, 0) << "some budget ends within the run";
}

// With columns of zeros the sum is noise alone; its deviation is the one the accountant was told. The sample deviation
// of 4000 draws is off by 1/sqrt(8000) = 1.1 %: 7 % is six deviations (false alarm 2e-9), and noise of 80 % would fail.
TEST(PrivateAveraging, DrawsTheNoiseItPaysFor) {
  constexpr Index kColumns = 4000;
  const Table data{Matrix::from_dense(3, kColumns, std::vector<double>(3 * kColumns, 0.0)), {1, -1, 1}};
  TestSite site(data.features, {.epsilon = 2});
  const RowShare share = party(data, site);
  const LocalSettings settings{.rounds = 1, .local_steps = 1, .step = 1, .clip = 3};
  auto& gate = *share.privacy->gate;
  const auto steps = PrivateLocalSteps::reserve(logistic({}), settings, share, gate);
  ASSERT_TRUE(steps) << steps.error().message;
  const auto noisy = (*steps)->sum(std::vector<double>(kColumns, 0.0), gate);
  ASSERT_TRUE(noisy);
  const double multiplier = *privacy::sampled_gaussian_noise(share.privacy->target, 1.0, 1);
  const double deviation = std::sqrt(linalg::squared_norm(noisy->value()) / kColumns);
  EXPECT_NEAR(deviation / (multiplier * 3), 1, 0.07);
}

// Replacing one record moves the sum by at most twice the clip, whatever the records are: with noise switched (nearly)
// off, the sums of neighbours are never farther apart.
TEST(PrivateAveraging, OneRecordMovesTheSumByTheClipAtMost) {
  data::Random random(9, 1, 1);
  double largest = 0;
  for (int trial = 0; trial < 12; ++trial) {
    std::vector<double> values(5 * 3);
    for (double& v : values) v = trial % 2 == 0 ? (random.uniform() < 0.5 ? -1 : 1) : 2 * random.uniform() - 1;
    std::vector<double> labels = {1, -1, 1, 1, -1};
    std::vector<double> at = {3 * random.normal(), 3 * random.normal(), 3 * random.normal()};
    std::vector<std::vector<double>> sums;
    for (const double side : {1.0, -1.0}) {
      for (std::size_t j = 0; j < 3; ++j) values[j * 5] = side;
      labels[0] = side > 0 ? 1 : -1;
      if (trial % 3 == 0) labels[0] = 1;
      const Table data{Matrix::from_dense(5, 3, values), labels};
      TestSite site(data.features, {.epsilon = 1e6, .delta = 1e-3});
      const RowShare share = party(data, site);
      const auto steps = PrivateLocalSteps::reserve(logistic({}), {.rounds = 1, .local_steps = 1, .clip = 0.5}, share,
                                                    *share.privacy->gate);
      sums.push_back((*steps)->sum(at, *share.privacy->gate)->value());
    }
    linalg::axpy(-1.0, sums[1], sums[0]);
    largest = std::max(largest, linalg::l2_norm(sums[0]));
  }
  EXPECT_LE(largest, 2 * 0.5 + 0.02) << "the noise at epsilon 1e6 is about 1e-3 of the clip per coordinate";
  EXPECT_GT(largest, 0.9) << "and the bound is reached";
}

TEST(PrivateAveraging, RefusesWhatItCannotCover) {
  const Table data = table(20, 3, 5);
  TestSite site(data.features, {});
  const RowShare share = party(data, site);
  glm::Objective free = logistic({});
  free.intercept = glm::Intercept::kFree;
  EXPECT_FALSE(PrivateLocalSteps::reserve(free, {}, share, *share.privacy->gate));
  EXPECT_FALSE(
      PrivateLocalSteps::reserve(logistic({}), {.batch = 5, .batch_growth = 0.9}, share, *share.privacy->gate));
}
