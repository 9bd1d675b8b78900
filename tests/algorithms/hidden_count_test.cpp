// Add-remove hides the number of records. A record of zeros adds nothing to any sum, so taking it away must
// change nothing that is released or charged: whatever did change would have come from n. With the same seed
// everything is the same to the bit.
#include <gtest/gtest.h>

#include <functional>

#include "parley/algorithms/coordinate/coordinate_descent.h"
#include "parley/algorithms/coordinate/greedy_cd.h"
#include "parley/algorithms/frank_wolfe/frank_wolfe.h"
#include "parley/algorithms/horizontal/fedavg.h"
#include "parley/algorithms/sgd/sgd.h"
#include "parley/algorithms/sgd/sgd_gradient.h"
#include "tests/algorithms/noisy_data.h"
#include "tests/algorithms/test_site.h"

using namespace parley;
using namespace parley::algorithms;
using glm::Task;
using parley::test::Data;
using parley::test::noisy_data;
using parley::test::objective_of;

namespace {

using Train = std::function<Result<Fit>(const Problem&)>;

Data with_zeros_at(const Data& data, linalg::Index place) {
  Data all;
  const linalg::Index rows = data.features.rows() + 1, columns = data.features.cols();
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  for (linalg::Index j = 0; j < columns; ++j)
    for (linalg::Index i = 0; i < rows; ++i)
      if (i != place) values[static_cast<std::size_t>(j * rows + i)] = data.features.at(i < place ? i : i - 1, j);
  all.features = linalg::Matrix::from_dense(rows, columns, values);
  all.labels = data.labels;
  all.labels.insert(all.labels.begin() + place, 1.0);
  return all;
}

struct Told {
  std::vector<double> weights;
  privacy::Transcript transcript;
  std::vector<privacy::Event> charged;
  std::int64_t steps = 0;
};

Told told_by(const Train& train, const Data& data, const TestSite::Limits& limits, const glm::Objective& objective) {
  TestSite site(data.features, limits);
  const auto fit = train(site.problem(data.labels, objective));
  EXPECT_TRUE(fit) << fit.error().message;
  if (!fit) return {};
  return {fit->weights, site.gate().transcript(), site.gate().charged().events, fit->iterations};
}

void expect_no_trace(const char* what, const Train& train, const Data& data, const glm::Objective& objective,
                     double derivative_bound = 1) {
  const auto rows = data.features.rows();
  // The true number, one that is not, and both sides of a power of two.
  for (const std::size_t stated : {static_cast<std::size_t>(rows + 1), static_cast<std::size_t>(rows / 2)}) {
    const TestSite::Limits limits{.epsilon = 3, .derivative_bound = derivative_bound, .records = stated};
    const Told without = told_by(train, data, limits, objective);
    EXPECT_GT(without.steps, 0) << what;
    for (const linalg::Index place : {linalg::Index{0}, rows / 2, rows}) {
      const Told with = told_by(train, with_zeros_at(data, place), limits, objective);
      EXPECT_EQ(with.weights, without.weights) << what << ", zeros at " << place << ", stated " << stated;
      EXPECT_EQ(with.transcript, without.transcript) << what;
      EXPECT_EQ(with.charged, without.charged) << what;
      EXPECT_EQ(with.steps, without.steps) << what;
    }
  }
}

const Observer kSilent;

}  // namespace

TEST(HiddenCount, GreedyDescentShowsNoTraceOfIt) {
  for (const Task task : {Task::kLogistic, Task::kLinear, Task::kSquaredHinge}) {
    const Data data = noisy_data(task, 1023, 8, 0.5, 1);
    expect_no_trace(
        "greedy-cd", [](const Problem& p) { return greedy_cd(p, {}, kSilent); }, data, objective_of(task, 0.001, 0.01));
  }
  expect_no_trace(
      "greedy-cd, paper's sums", [](const Problem& p) { return greedy_cd(p, {.iterations = 3}, kSilent); },
      noisy_data(Task::kLogistic, 255, 40, 0.05, 2), objective_of(Task::kLogistic, 0, 0.1));
}

TEST(HiddenCount, FrankWolfeShowsNoTraceOfIt) {
  for (const Task task : {Task::kLogistic, Task::kLinear}) {
    const Data data = noisy_data(task, 1023, 8, 0.5, 3);
    glm::Objective ball = objective_of(task, 0, 0.05);
    ball.l1_radius = 1.5;
    const Train train = [](const Problem& p) { return frank_wolfe(p, {}, kSilent); };
    expect_no_trace("frank-wolfe", train, data, ball);
    // No residual needs clipping: Gram columns.
    if (task == Task::kLinear) expect_no_trace("frank-wolfe, residuals", train, data, ball, 4);
  }
}

TEST(HiddenCount, CoordinateDescentShowsNoTraceOfIt) {
  for (const Task task : {Task::kLogistic, Task::kSoftmax})
    expect_no_trace(
        "coordinate-descent", [](const Problem& p) { return coordinate_descent(p, {}, kSilent); },
        noisy_data(task, 1023, 6, 0.5, 4), objective_of(task, 0, 0.01));
}

TEST(HiddenCount, GradientDescentShowsNoTraceOfIt) {
  for (const Task task : {Task::kLogistic, Task::kSoftmax})
    expect_no_trace(
        "sgd", [](const Problem& p) { return sgd(p, {.batch_rate = 1.0}, kSilent); }, noisy_data(task, 1023, 6, 0.5, 5),
        objective_of(task, 0, 0.01));
  // Noise drawn when it is read.
  expect_no_trace(
      "sgd, sparse", [](const Problem& p) { return sgd(p, {.steps = 5, .batch_rate = 1.0, .momentum = 0.0}, kSilent); },
      noisy_data(Task::kLogistic, 15, 400, 0.02, 6), objective_of(Task::kLogistic, 0, 0));
}

TEST(HiddenCount, ChoicesOfASampledRunShowNoTraceOfIt) {
  // Who joins is drawn record by record, so two runs differ; what is planned and charged does not.
  const Data data = noisy_data(Task::kLogistic, 1023, 6, 0.5, 7);
  const Train train = [](const Problem& p) { return sgd(p, {.batch_rate = 0.1}, kSilent); };
  const TestSite::Limits limits{.records = 1024};
  const glm::Objective objective = objective_of(Task::kLogistic, 0, 0);
  const Told without = told_by(train, data, limits, objective);
  const Told with = told_by(train, with_zeros_at(data, 1023), limits, objective);
  EXPECT_EQ(with.steps, without.steps);
  EXPECT_EQ(with.charged, without.charged);
}

TEST(HiddenCount, LocalStepsOfAFederationShowNoTraceOfIt) {
  const Data data = noisy_data(Task::kLogistic, 1023, 6, 0.5, 8);
  const auto reply = [&](const Data& table, std::int64_t batch) {
    TestSite site(table.features, {.records = 900});
    const Problem problem = site.problem(table.labels, objective_of(Task::kLogistic, 0, 0.01));
    const FedAvg algorithm = *FedAvg::make(problem.objective, {.rounds = 2, .local_steps = 3, .batch = batch});
    const RowShare share{0, problem.features, table.labels, problem.privacy};
    FedAvg::Memory memory;
    const auto released = algorithm.answer(algorithm.ask(algorithm.start(6)), share, memory, *problem.privacy->gate);
    EXPECT_TRUE(released) << released.error().message;
    return std::pair{released->value(), site.gate().charged().events};
  };
  for (const linalg::Index place : {0, 500, 1023}) {
    const auto [with, charged] = reply(with_zeros_at(data, place), 0);
    const auto [without, charged_without] = reply(data, 0);
    EXPECT_EQ(with.records, 900) << "a party's weight is the number that the job states";
    EXPECT_EQ(with.records, without.records);
    EXPECT_EQ(with.parameters, without.parameters);
    EXPECT_EQ(charged, charged_without);
  }
  EXPECT_EQ(reply(with_zeros_at(data, 3), 50).second, reply(data, 50).second);
}

TEST(HiddenCount, ARecordsDerivativeIsItsOwnToTheLastDigit) {
  // One record more, whose values make other columns dense and of another type: all rows are then added up in
  // another order. So they are when a batch is large enough for a pass.
  const linalg::Index rows = 40, columns = 150;
  const Data data = noisy_data(Task::kLogistic, rows, columns, 0.15, 9);
  Data more = with_zeros_at(data, 20);
  std::vector<double> values;
  for (linalg::Index j = 0; j < columns; ++j)
    for (linalg::Index i = 0; i <= rows; ++i) values.push_back(i == 20 ? 1.0 / (j + 3) : more.features.at(i, j));
  more.features = linalg::Matrix::from_dense(rows + 1, columns, values);
  std::mt19937_64 random(10);
  std::normal_distribution<double> normal;
  std::vector<double> weights(static_cast<std::size_t>(columns));
  for (double& w : weights) w = 0.3 * normal(random);

  const TestSite::Limits limits{.records = 40};
  const glm::Objective objective = objective_of(Task::kLogistic, 0, 0);
  const TestSite here(data.features, limits), there(more.features, limits);
  const Problem problem = here.problem(data.labels, objective), other = there.problem(more.labels, objective);
  BatchDerivatives mine(problem), theirs(other);
  std::vector<std::size_t> everyone(static_cast<std::size_t>(rows + 1));
  for (std::size_t i = 0; i < everyone.size(); ++i) everyone[i] = i;
  const auto kept = [](std::span<const double> told) { return std::vector<double>(told.begin(), told.end()); };
  const std::vector<double> pass = kept(theirs.at(weights, everyone));
  const std::vector<double> rows_only = kept(theirs.at_rows(weights, everyone));
  ASSERT_TRUE(theirs.by_passes(everyone.size()));
  ASSERT_FALSE(mine.by_passes(1));
  double largest = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
    const std::size_t there_at = i < 20 ? i : i + 1;
    EXPECT_EQ(mine.at(weights, std::vector{i})[0], pass[there_at]) << i;
    EXPECT_EQ(mine.at_rows(weights, std::vector{i})[0], rows_only[there_at]) << i;
    // Close to the derivative at the weights as they are.
    const double margin = problem.features.row_dot(static_cast<linalg::Index>(i), weights), y = data.labels[i];
    // Rounded weights move a margin by at most 2^-53 M sum_j L_j/2^e_j: M is about 36, and 150 columns have
    // 2^22 steps each.
    EXPECT_NEAR(pass[there_at], -y / (1 + std::exp(y * margin)), 3e-6);
    EXPECT_NEAR(rows_only[there_at], -y / (1 + std::exp(y * margin)), 1e-12);
    largest = std::max(largest, std::abs(margin));
  }
  EXPECT_GT(largest, 0.5) << "margins of nothing: this test has no power";
}
