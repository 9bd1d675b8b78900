// labels: slow
#include "parley/algorithms/horizontal/federated_averaging.h"

#include <gtest/gtest.h>

#include <cmath>

#include "parley/algorithms/horizontal/distributed_iht.h"
#include "parley/algorithms/horizontal/fed_ht.h"
#include "parley/algorithms/horizontal/fed_iter_ht.h"
#include "parley/algorithms/horizontal/fedavg.h"
#include "parley/core/threads.h"
#include "parley/data/random.h"
#include "tests/algorithms/federation.h"
#include "tests/algorithms/simulated_clients.h"
#include "tests/support/sanitized.h"

using namespace parley;
using namespace parley::algorithms;
using parley::tests::draw;
using parley::tests::federate;
using parley::tests::pooled_objective;

namespace {

RowShare share(int party, std::vector<std::vector<double>> rows, std::vector<double> labels) {
  const std::size_t columns = rows.front().size();
  std::vector<double> column_major(rows.size() * columns);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < columns; ++j) column_major[j * rows.size() + i] = rows[i][j];
  return {party,
          linalg::Matrix::from_dense(static_cast<linalg::Index>(rows.size()), static_cast<linalg::Index>(columns),
                                     column_major),
          std::move(labels)};
}

glm::Objective objective(glm::Task task, std::optional<int> sparsity, double l2 = 0) {
  glm::Objective made{.task = task};
  made.sparsity = sparsity;
  made.l2 = l2;
  return made;
}

template <class A>
double objective_after(const glm::Objective& problem, const LocalSettings& settings,
                       const std::vector<RowShare>& shares) {
  set_thread_count(1);  // matrices this small gain nothing from a second thread
  const auto algorithm = A::make(problem, settings);
  const auto end = federate(*algorithm, algorithm->start(static_cast<std::size_t>(shares[0].features.cols())), shares);
  return pooled_objective(problem, shares, end->parameters);
}

}  // namespace

// One column of ones and one of 0/1; computed by hand.
TEST(FedIterHt, TwoStepsByHand) {
  // Party 0: rows (1,0) y=1 and (1,2) y=3; party 1: row (1,1) y=0. Squared loss, tau = 1, step 0.5, K = 2.
  const std::vector<RowShare> parties = {share(0, {{1, 0}, {1, 2}}, {1, 3}), share(1, {{1, 1}}, {0})};
  // Party 0, from 0: g = mean of (m-y) z = ((-1,0) + (-3,-6))/2 = (-2,-3);  x = (1, 1.5) -> H_1 -> (0, 1.5)
  //          margins (0, 3): g = ((-1, 0) + (0, 0))/2 = (-0.5, 0);  x = (0.25, 1.5) -> (0, 1.5)
  // Party 1, from 0: g = 0, x = 0.
  // Average with p = (2/3, 1/3): (0, 1).
  const auto algorithm =
      FedIterHt::make(objective(glm::Task::kLinear, 1), {.rounds = 1, .local_steps = 2, .step = 0.5});
  ASSERT_TRUE(algorithm);
  const auto end = federate(*algorithm, algorithm->start(2), parties);
  EXPECT_DOUBLE_EQ(end->parameters[0], 0);
  EXPECT_DOUBLE_EQ(end->parameters[1], 1);
}

TEST(FedHt, ThresholdsTheAverageAlone) {
  const std::vector<RowShare> parties = {share(0, {{1, 0}, {1, 2}}, {1, 3}), share(1, {{1, 1}}, {0})};
  // Party 0: (1, 1.5); margins (1, 4): residuals (0, 1): g = (0.5, 1); x = (0.75, 1). Party 1: 0.
  // Average (0.5, 2/3) -> H_1 -> (0, 2/3).
  const auto algorithm = FedHt::make(objective(glm::Task::kLinear, 1), {.rounds = 1, .local_steps = 2, .step = 0.5});
  const auto end = federate(*algorithm, algorithm->start(2), parties);
  EXPECT_DOUBLE_EQ(end->parameters[0], 0);
  EXPECT_DOUBLE_EQ(end->parameters[1], 2.0 / 3.0);
}

TEST(FedAvg, IsGradientDescentOnThePooledDataWithOneFullStep) {
  const std::vector<RowShare> parties = {share(0, {{1, 0}, {1, 2}}, {1, 3}), share(1, {{1, 1}}, {0})};
  const auto algorithm =
      FedAvg::make(objective(glm::Task::kLinear, std::nullopt, 0.1), {.rounds = 2000, .local_steps = 1, .step = 0.3});
  const auto end = federate(*algorithm, algorithm->start(2), parties);
  // Stationary: 1/3 X'(Xw - y) + 0.1 w = 0.
  const double w0 = end->parameters[0], w1 = end->parameters[1];
  EXPECT_NEAR((w0 - 1 + (w0 + 2 * w1 - 3) + (w0 + w1)) / 3 + 0.1 * w0, 0, 1e-12);
  EXPECT_NEAR((2 * (w0 + 2 * w1 - 3) + (w0 + w1)) / 3 + 0.1 * w1, 0, 1e-12);
}

// Squares along (1, 1) and (1, -1) that differ by 400: plain steps hardly move along the second.
TEST(FedAvg, GoesBeyondTheAverageWhereItsStepIsLeftOpenAndStopsWhenNothingMoves) {
  const std::vector<RowShare> parties = {share(0, {{1, 0.9}, {1, 1}}, {1, 0.8}),
                                         share(1, {{1, 1.1}, {0.9, 1}}, {1, 1})};
  const glm::Objective problem = objective(glm::Task::kLinear, std::nullopt);
  const auto after = [&](LocalSettings settings) {
    const auto algorithm = FedAvg::make(RunTerms{.objective = problem, .parties = 2}, settings);
    const auto end = federate(*algorithm, algorithm->start(2, std::sqrt(2.21)), parties);
    return std::pair{pooled_objective(problem, parties, end->parameters), end->round};
  };
  const double open = step_size(problem, {}, std::sqrt(2.21));
  const auto [plain, all] = after({.rounds = 150, .local_steps = 1, .step = open});
  const auto [beyond, some] = after({.rounds = 150, .local_steps = 1});
  const auto [optimum, rounds] = after({.rounds = 100000, .local_steps = 1});
  EXPECT_LT(beyond - optimum, 0.1 * (plain - optimum));
  EXPECT_LT(rounds, 20000);
}

TEST(DistributedIht, IgnoresLocalSteps) {
  const std::vector<RowShare> parties = {share(0, {{1, 0}, {1, 2}}, {1, 3}), share(1, {{1, 1}}, {0})};
  const auto one = DistributedIht::make(objective(glm::Task::kLinear, 1), {.rounds = 3, .local_steps = 1, .step = 0.2});
  const auto many =
      DistributedIht::make(objective(glm::Task::kLinear, 1), {.rounds = 3, .local_steps = 7, .step = 0.2});
  EXPECT_EQ(federate(*one, one->start(2), parties)->parameters, federate(*many, many->start(2), parties)->parameters);
}

TEST(FederatedAveraging, TheOrderOfArrivalChangesNothing) {
  const auto shares = draw({.clients = 5, .rows = 30, .columns = 40, .nonzeros = 5}, 3);
  const auto algorithm = FedIterHt::make(objective(glm::Task::kLinear, 5),
                                         {.rounds = 7, .local_steps = 3, .step = 0.005, .batch = 7, .seed = 5});
  const auto forwards = federate(*algorithm, algorithm->start(40), shares);
  const auto backwards = federate(*algorithm, algorithm->start(40), shares, {}, nullptr, {4, 2, 0, 3, 1});
  EXPECT_EQ(forwards->parameters, backwards->parameters);
}

TEST(FederatedAveraging, SeedsDecideTheBatches) {
  const auto shares = draw({.clients = 2, .rows = 30, .columns = 10, .nonzeros = 5}, 3);
  const auto run = [&](std::uint64_t seed) {
    const auto algorithm = FedAvg::make(objective(glm::Task::kLinear, std::nullopt),
                                        {.rounds = 3, .local_steps = 2, .step = 0.01, .batch = 4, .seed = seed});
    return federate(*algorithm, algorithm->start(10), shares)->parameters;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(DrawBatch, IsUniformWithoutRepetitionAndGrows) {
  const RowShare parties = share(3, std::vector<std::vector<double>>(20, {1.0}), std::vector<double>(20, 0.0));
  const LocalSettings settings{.local_steps = 2, .batch = 5, .batch_growth = 0.8, .seed = 9};
  std::vector<int> drawn(20);
  constexpr int kDraws = 4000;
  LocalSettings fixed = settings;
  fixed.batch_growth = 1;
  for (int round = 0; round < kDraws; ++round) {
    const auto batch = draw_batch(fixed, parties, round, 1);
    ASSERT_EQ(batch.size(), 5u);
    for (std::size_t i = 1; i < batch.size(); ++i) ASSERT_LT(batch[i - 1], batch[i]);
    for (const auto i : batch) ++drawn[static_cast<std::size_t>(i)];
  }
  // Each record is drawn Binomial(4000, 1/4) times, deviation 27.4: 6 deviations fail once in 2e7 for 20 records.
  for (const int count : drawn) EXPECT_NEAR(count, kDraws / 4, 6 * 27.4);
  EXPECT_EQ(draw_batch(settings, parties, 0, 0).size(), 5u);
  EXPECT_EQ(draw_batch(settings, parties, 2, 0).size(), 8u) << "5 / 0.64 = 7.8";
  EXPECT_EQ(draw_batch(settings, parties, 20, 0).size(), 20u) << "all records";
}

TEST(LocalSteps, GoDownTheGradientOfTheObjective) {
  const auto shares = draw({.clients = 1, .rows = 25, .columns = 12, .nonzeros = 4}, 8);
  for (const glm::Task task : {glm::Task::kLinear, glm::Task::kLogistic, glm::Task::kSoftmax})
    for (const glm::Intercept intercept : {glm::Intercept::kNone, glm::Intercept::kFree, glm::Intercept::kPenalised}) {
      glm::Objective problem = objective(task, std::nullopt, 0.3);
      problem.classes = task == glm::Task::kSoftmax ? 3 : 1;
      problem.intercept = intercept;
      RowShare share = shares[0];
      for (std::size_t i = 0; i < 25; ++i)
        share.labels[i] = task == glm::Task::kSoftmax ? static_cast<double>(i % 3) : (i % 2 == 0 ? 1 : -1);
      std::vector<double> at(parameter_count(problem, 12));
      data::Random random(1, 2, 3);
      for (double& x : at) x = random.normal();
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      std::shared_ptr<PrivateLocalSteps> unpaid;
      const auto moved =
          local_steps(problem, {.local_steps = 1}, {.step = 1, .parameters = at}, share, nullptr, gate)->value();
      const auto value = [&] {
        const auto [weights, intercepts] = separate(problem, at);
        return glm::evaluate(problem, share.features, share.labels, weights, intercepts);
      };
      for (std::size_t j = 0; j < at.size(); ++j) {
        const double kept = at[j];
        at[j] = kept + 1e-5;
        const double up = value();
        at[j] = kept - 1e-5;
        const double down = value();
        at[j] = kept;
        // A central difference is off by about 1e-16 / 1e-5 and by 1e-10 times the third derivative.
        EXPECT_NEAR(at[j] - moved[j], (up - down) / 2e-5, 1e-6 * (1 + std::abs(at[j] - moved[j])));
      }
    }
}

TEST(KeepLargest, WorksClassByClassAndSparesAFreeIntercept) {
  glm::Objective problem = objective(glm::Task::kSoftmax, 1);
  problem.classes = 2;
  problem.intercept = glm::Intercept::kFree;
  std::vector<double> free = {1, -2, 7, 3, 0.5, 0.2};  // two weights and an intercept, twice
  keep_largest(problem, free);
  EXPECT_EQ(free, (std::vector<double>{0, -2, 7, 3, 0, 0.2}));
  problem.intercept = glm::Intercept::kPenalised;
  std::vector<double> penalised = {1, -2, 7, 3, 0.5, 0.2};
  keep_largest(problem, penalised);
  EXPECT_EQ(penalised, (std::vector<double>{0, 0, 7, 3, 0, 0}));
}

// The contract: 1.1 x 12 tau + 200 bytes each way per client.
TEST(FedIterHt, MessagesHoldTheKeptEntriesOnly) {
  const auto shares = draw({.clients = 4, .rows = 30, .columns = 600, .nonzeros = 20}, 4);
  const auto algorithm =
      FedIterHt::make(objective(glm::Task::kLinear, 50), {.rounds = 3, .local_steps = 5, .step = 1e-3});
  tests::Bytes bytes;
  ASSERT_TRUE(federate(*algorithm, algorithm->start(600), shares, {}, &bytes));
  const std::size_t bound = 12 * 50 * 11 / 10 + 200 - 48;  // 48 bytes of frame around every message
  EXPECT_LE(bytes.largest_task, bound);
  EXPECT_LE(bytes.largest_reply, bound);
  EXPECT_GE(bytes.largest_reply, 600u) << "fifty entries do travel";
}

TEST(FedIterHt, RecoversTheSupportOfIidData) {
  const auto shares = draw({.clients = 10, .rows = 60, .columns = 200, .nonzeros = 8, .alike = true}, 11);
  const auto algorithm =
      FedIterHt::make(objective(glm::Task::kLinear, 8), {.rounds = 40, .local_steps = 5, .step = 0.2});
  const auto end = federate(*algorithm, algorithm->start(200), shares);
  for (std::size_t j = 0; j < 200; ++j) EXPECT_EQ(end->parameters[j] != 0, j < 8) << j;
}

// Figure 3 in small: at the same step size, FedIter-HT with K = 10 is there in a fifth (a quarter) of the rounds.
TEST(FedIterHt, NeedsAFifthOfTheRoundsOfDistributedIht) {
  PARLEY_SKIP_WHEN_SANITIZED();
  for (const double spread : {0.1, 0.5, 1.0}) {
    const auto shares =
        draw({.clients = 20, .rows = 50, .columns = 200, .nonzeros = 20, .alpha = spread, .beta = spread}, 1);
    const auto problem = objective(glm::Task::kLinear, 40);
    const double baseline = objective_after<DistributedIht>(problem, {.rounds = 100, .step = 3e-4}, shares);
    const double reached = objective_after<FedIterHt>(problem, {.rounds = 20, .local_steps = 10, .step = 3e-4}, shares);
    EXPECT_LE(reached, baseline) << "alpha = beta = " << spread;
  }
}

TEST(FedIterHt, NeedsAQuarterOfTheRoundsOfDistributedIhtForClassification) {
  PARLEY_SKIP_WHEN_SANITIZED();
  for (const double spread : {0.1, 0.5, 1.0}) {
    const auto shares = draw(
        {.clients = 20, .rows = 60, .columns = 200, .nonzeros = 20, .positives = 6, .alpha = spread, .beta = spread},
        1);
    const auto problem = objective(glm::Task::kLogistic, 40);
    const double baseline = objective_after<DistributedIht>(problem, {.rounds = 200, .step = 3e-3}, shares);
    const double reached = objective_after<FedIterHt>(problem, {.rounds = 50, .local_steps = 10, .step = 3e-3}, shares);
    EXPECT_LE(reached, baseline) << "alpha = beta = " << spread;
  }
}

TEST(FederatedAveraging, TakesASafeStepWhenNoneIsGiven) {
  const auto shares = draw({.clients = 3, .rows = 30, .columns = 20, .nonzeros = 5}, 6);
  double row_norm = 0;
  for (const RowShare& share : shares)
    for (const double squares : share.features.row_squared_norms()) row_norm = std::max(row_norm, std::sqrt(squares));
  const auto problem = objective(glm::Task::kLinear, std::nullopt);
  const auto algorithm = FedAvg::make(problem, {.rounds = 50, .local_steps = 5});
  double last = pooled_objective(problem, shares, std::vector<double>(20, 0.0));
  const double first = last;
  const auto end = federate<FedAvg>(*algorithm, algorithm->start(20, row_norm), shares);
  last = pooled_objective(problem, shares, end->parameters);
  EXPECT_LT(last, first);
}

TEST(FederatedAveraging, RefusesWhatItCannotSolve) {
  EXPECT_FALSE(FedIterHt::make(objective(glm::Task::kLinear, std::nullopt), {}));
  EXPECT_FALSE(FedAvg::make(objective(glm::Task::kLinear, 3), {}));
  EXPECT_FALSE(FedAvg::make(objective(glm::Task::kLinear, std::nullopt), {.step = -1}));
  glm::Objective lasso = objective(glm::Task::kLinear, 3);
  lasso.l1 = 1;
  EXPECT_FALSE(FedIterHt::make(lasso, {}));
}

TEST(FederatedAveraging, RefusesMessagesOfTheWrongSize) {
  const RowShare party = share(0, {{1, 0}}, {1});
  const auto algorithm = FedAvg::make(objective(glm::Task::kLinear, std::nullopt), {});
  FedAvg::Memory memory;
  auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
  EXPECT_FALSE(algorithm->answer({0, 0.1, {1, 2, 3}}, party, memory, gate));
  EXPECT_FALSE(tests::absorbed(*algorithm, algorithm->start(2), {{0, {1, {1, 2, 3}}}}));
  EXPECT_FALSE(tests::absorbed(*algorithm, algorithm->start(2), {{0, {0, {1, 2}}}}));
  EXPECT_FALSE(tests::absorbed(*algorithm, algorithm->start(2), {}));
}
