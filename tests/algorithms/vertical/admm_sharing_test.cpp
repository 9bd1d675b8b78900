#include "parley/algorithms/vertical/admm_sharing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "parley/algorithms/exact/exact.h"
#include "parley/algorithms/vertical/ridge_factor.h"
#include "parley/data/random.h"
#include "tests/algorithms/federation.h"

using namespace parley;
using namespace parley::algorithms;
using linalg::Index;
using linalg::Matrix;
using parley::tests::federate;

namespace {

Matrix normal_matrix(Index rows, Index cols, std::uint64_t seed) {
  std::vector<double> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
  data::Random random(seed, 1, 1);
  for (double& v : values) v = random.normal() / std::sqrt(static_cast<double>(cols));
  return Matrix::from_dense(rows, cols, values);
}

std::vector<double> labels_for(const Matrix& features, glm::Task task, std::uint64_t seed) {
  std::vector<double> truth(static_cast<std::size_t>(features.cols())),
      labels(static_cast<std::size_t>(features.rows()));
  data::Random random(seed, 2, 2);
  for (double& w : truth) w = 2 * random.normal();
  features.multiply(truth, labels);
  for (double& y : labels) {
    y += 0.5 * random.normal();
    if (task != glm::Task::kLinear) y = y > 0 ? 1 : -1;
  }
  return labels;
}

// Contiguous columns, the first party holds the labels and the column of ones.
std::vector<ColumnShare> split(const Matrix& features, const std::vector<double>& labels, int parties,
                               bool constant = false) {
  std::vector<ColumnShare> shares;
  for (int m = 0; m < parties; ++m) {
    std::vector<Index> columns;
    for (Index j = features.cols() * m / parties; j < features.cols() * (m + 1) / parties; ++j) columns.push_back(j);
    shares.push_back({features.select_columns(columns), m == 0 ? labels : std::vector<double>{}, constant && m == 0});
  }
  return shares;
}

struct Trained {
  std::vector<double> weights;  // without the intercept
  std::vector<double> intercepts;
  std::int64_t rounds = 0;
  bool converged = false;
};

// The same loop as tests/algorithms/federation.h, with the parties' memories kept: the model is in them.
Trained train(const AdmmSharing& algorithm, AdmmSharing::Iterate iterate, const std::vector<ColumnShare>& shares) {
  std::vector<AdmmSharing::Memory> memories(shares.size());
  while (!algorithm.done(iterate)) {
    std::vector<rounds::Answer<AdmmSharing::Reply>> answers;
    for (std::size_t m = 0; m < shares.size(); ++m) {
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      const auto reply = algorithm.answer(algorithm.ask(iterate, static_cast<int>(m)), shares[m], memories[m], gate);
      EXPECT_TRUE(reply);
      answers.push_back({static_cast<int>(m), reply->value()});
    }
    auto next = tests::absorbed(algorithm, std::move(iterate), answers);
    EXPECT_TRUE(next);
    iterate = std::move(*next);
  }
  Trained trained{{}, {}, iterate.round, algorithm.converged(iterate)};
  for (std::size_t m = 0; m < shares.size(); ++m) {
    auto part = memories[m].weights;
    if (shares[m].constant) {
      trained.intercepts.push_back(part.back());
      part.pop_back();
    }
    trained.weights.insert(trained.weights.end(), part.begin(), part.end());
  }
  return trained;
}

}  // namespace

TEST(AdmmSharing, EqualsExactForEveryLossAndNumberOfParties) {
  for (const glm::Task task : {glm::Task::kLinear, glm::Task::kLogistic, glm::Task::kSquaredHinge})
    for (const int parties : {1, 2, 4})
      for (const bool constant : {false, true}) {
        const Matrix features = normal_matrix(60, 12, 3);
        const auto labels = labels_for(features, task, 5);
        glm::Objective objective{.task = task, .l2 = 0.01};
        objective.intercept = constant ? glm::Intercept::kPenalised : glm::Intercept::kNone;
        const auto algorithm = AdmmSharing::make(objective, {.rounds = 20000, .tolerance = 1e-11}, parties);
        ASSERT_TRUE(algorithm);
        const Trained trained = train(*algorithm, algorithm->start(), split(features, labels, parties, constant));
        EXPECT_TRUE(trained.converged);
        const auto best = exact({features, labels, objective}, {.tolerance = 1e-14}, {});
        ASSERT_TRUE(best);
        const double reached = glm::evaluate(objective, features, labels, trained.weights, trained.intercepts);
        EXPECT_NEAR(reached, best->objective, 1e-8)
            << glm::name(task) << ", " << parties << " parties, " << trained.rounds << " rounds";
        for (std::size_t j = 0; j < trained.weights.size(); ++j)
          EXPECT_NEAR(trained.weights[j], best->weights[j], 1e-6);
      }
}

TEST(AdmmSharing, MoreColumnsThanRecordsGiveTheSame) {
  const Matrix features = normal_matrix(15, 40, 7);
  const auto labels = labels_for(features, glm::Task::kLinear, 8);
  const glm::Objective objective{.task = glm::Task::kLinear, .l2 = 0.1};
  const auto algorithm = AdmmSharing::make(objective, {.rounds = 20000}, 2);
  const Trained trained = train(*algorithm, algorithm->start(), split(features, labels, 2));
  const auto best = exact({features, labels, objective}, {.tolerance = 1e-14}, {});
  EXPECT_NEAR(glm::evaluate(objective, features, labels, trained.weights), best->objective, 1e-8);
}

TEST(AdmmSharing, LabelsMayBeTheCoordinators) {
  const Matrix features = normal_matrix(30, 6, 2);
  const auto labels = labels_for(features, glm::Task::kLogistic, 2);
  const glm::Objective objective{.task = glm::Task::kLogistic, .l2 = 0.05};
  const auto algorithm = AdmmSharing::make(objective, {.rounds = 50}, 3);
  const Trained theirs = train(*algorithm, algorithm->start(), split(features, labels, 3));
  const Trained own = train(*algorithm, algorithm->start(labels), split(features, {}, 3));
  EXPECT_EQ(theirs.weights, own.weights);
}

TEST(AdmmSharing, OneValuePerRecordTravels) {
  const Matrix features = normal_matrix(100, 30, 2);
  const auto labels = labels_for(features, glm::Task::kLinear, 2);
  const auto algorithm = AdmmSharing::make({.task = glm::Task::kLinear, .l2 = 0.1}, {.rounds = 3}, 3);
  tests::Bytes bytes;
  ASSERT_TRUE(federate(*algorithm, algorithm->start(), split(features, labels, 3), {}, &bytes));
  EXPECT_EQ(bytes.largest_task, 4 + 100 * 8u);
  EXPECT_EQ(bytes.largest_reply, 4 + 100 * 8u);
}

TEST(AdmmSharing, ARestartedPartyGoesOnFromTheTaskAlone) {
  const Matrix features = normal_matrix(20, 4, 2);
  const ColumnShare share{features, {}, false};
  const auto algorithm = AdmmSharing::make({.task = glm::Task::kLinear, .l2 = 0.1}, {}, 2);
  AdmmSharing::Memory kept, fresh;
  auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
  const AdmmSharing::Task first{std::vector<double>(20, 1.0)}, second{std::vector<double>(20, -0.5)};
  ASSERT_TRUE(algorithm->answer(first, share, kept, gate));
  EXPECT_EQ(algorithm->answer(second, share, kept, gate)->value().values,
            algorithm->answer(second, share, fresh, gate)->value().values);
}

TEST(RidgeFactor, SolvesTheNormalEquationsInBothForms) {
  for (const Index cols : {5, 30}) {
    const ColumnShare share{normal_matrix(12, cols, 4), {}, true};
    const auto factor = RidgeFactor::make(share, 0.3);
    std::vector<double> target(12);
    data::Random random(3, 3, 3);
    for (double& t : target) t = random.normal();
    const auto x = factor->solve(share, target);
    // D'(D x - c) + 0.3 x = 0
    auto residual = margins_of(share, x);
    double ones = 0.3 * x.back();
    for (std::size_t i = 0; i < residual.size(); ++i) {
      residual[i] -= target[i];
      ones += residual[i];
    }
    std::vector<double> gradient(static_cast<std::size_t>(cols));
    share.features.multiply_transposed(residual, gradient);
    for (std::size_t j = 0; j < gradient.size(); ++j) EXPECT_NEAR(gradient[j] + 0.3 * x[j], 0, 1e-12);
    EXPECT_NEAR(ones, 0, 1e-12);
  }
}

TEST(AdmmSharing, RefusesWhatItCannotSolve) {
  EXPECT_FALSE(AdmmSharing::make({.task = glm::Task::kLinear}, {}, 2)) << "no penalty";
  EXPECT_FALSE(AdmmSharing::make({.task = glm::Task::kSoftmax, .l2 = 1}, {}, 2));
  EXPECT_FALSE(AdmmSharing::make({.task = glm::Task::kLinear, .l1 = 1, .l2 = 1}, {}, 2));
  glm::Objective free{.task = glm::Task::kLinear, .l2 = 1};
  free.intercept = glm::Intercept::kFree;
  EXPECT_FALSE(AdmmSharing::make(free, {}, 2));
  const auto algorithm = AdmmSharing::make({.task = glm::Task::kLinear, .l2 = 1}, {}, 2);
  const auto begun = algorithm->start({1, 2});
  EXPECT_FALSE(tests::absorbed(*algorithm, begun, {{0, {{1, 2}}}})) << "a party is missing";
  EXPECT_FALSE(tests::absorbed(*algorithm, begun, {{0, {{1, 2}}}, {1, {{1}}}}));
  EXPECT_FALSE(tests::absorbed(*algorithm, {}, {{0, {}}, {1, {}}})) << "nobody has labels";
}

TEST(AdmmSharing, ConvergedIsSaidOfSmallResidualsAndBoundedValuesOnly) {
  const glm::Objective objective{.task = glm::Task::kLogistic, .l2 = 0.05};
  auto algorithm = AdmmSharing::make(objective, {.tolerance = 1e-6}, 2);
  ASSERT_TRUE(algorithm);
  const auto converged = [&](double value, double change) {
    AdmmSharing::Iterate iterate = algorithm->start(std::vector<double>(40, 1.0));
    iterate.round = 5;
    iterate.change = change;
    for (auto& values : iterate.shared) values.assign(40, value);
    iterate.mean.assign(40, value);
    iterate.consensus.assign(40, value);
    return algorithm->converged(iterate);
  };
  EXPECT_TRUE(converged(3, 1e-7));
  EXPECT_FALSE(converged(3, 1e-5));
  // Nothing of the others is left in sums of such values, so no residual is either.
  for (const double value : {1e100, -1e90, 1e30, 1e18}) EXPECT_FALSE(converged(value, 0)) << value;
  EXPECT_FALSE(converged(1e6, 1e-7)) << "relatively small, and 0.1 a record";
  // |w| <= sqrt(2 log 2 / 0.05) = 5.3 at the optimum; rows have a norm of at most 1, and ten times that is let pass.
  EXPECT_TRUE(converged(1e3, 0)) << "nobody said what the rows are";
  algorithm->expect({.labels = {.party = 0, .records = 40}, .row_norms = {1, 1}});
  EXPECT_TRUE(converged(50, 0));
  EXPECT_FALSE(converged(60, 0));
  EXPECT_FALSE(converged(1e3, 0));
}

// H = D (D'D + r I)^-1 D' shortens whatever it is given, by however little.
TEST(AdmmSharing, HonestAnswersAreNeverLongerThanTheirTasks) {
  data::Random random(11, 1, 1);
  for (const double scale : {1e-6, 1.0, 1e3, 1e6})
    for (const Index cols : {1, 5, 40}) {
      const auto algorithm = AdmmSharing::make({.task = glm::Task::kLinear, .l2 = 1e-6}, {}, 2);
      Matrix features = normal_matrix(20, cols, 3);
      features = features.with_column_scale(std::vector<double>(static_cast<std::size_t>(cols), scale));
      const ColumnShare share{features, {}, true};
      AdmmSharing::Iterate iterate = algorithm->start(std::vector<double>(20, 1.0));
      for (double& z : iterate.consensus) z = random.normal();
      AdmmSharing::Memory memory;
      auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
      const auto reply = algorithm->answer(algorithm->ask(iterate, 1), share, memory, gate);
      ASSERT_TRUE(reply);
      EXPECT_TRUE(algorithm->check(iterate, 1, reply->value())) << scale << " x " << cols;
      AdmmSharing::Reply lie = reply->value();
      for (double& value : lie.values) value = 100 * value + 100;
      EXPECT_FALSE(algorithm->check(iterate, 1, lie));
    }
}
