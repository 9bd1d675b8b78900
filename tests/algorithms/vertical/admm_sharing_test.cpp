#include "parley/algorithms/vertical/admm_sharing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "parley/algorithms/exact/exact.h"
#include "parley/algorithms/vertical/block_descent.h"
#include "parley/algorithms/vertical/ridge_factor.h"
#include "parley/algorithms/vertical/ridge_gradients.h"
#include "parley/data/random.h"
#include "parley/glm/batch.h"
#include "tests/algorithms/vertical/sharing_run.h"

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

Trained train(const AdmmSharing& algorithm, AdmmSharing::Iterate iterate, const std::vector<ColumnShare>& shares) {
  const tests::SharingRun run = tests::run_sharing(algorithm, std::move(iterate), shares);
  EXPECT_FALSE(run.error) << run.error->message;
  Trained trained{run.weights(shares), {}, run.iterate.round, algorithm.converged(run.iterate)};
  for (std::size_t m = 0; m < shares.size(); ++m)
    if (shares[m].constant) trained.intercepts.push_back(run.memories[m].weights.back());
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

namespace {

// By how much the objective could be smaller over |w_j| <= r, at most: sum_j g_j w_j + r |g_j|.
double gap_over_box(const glm::Objective& objective, const Matrix& features, const std::vector<double>& labels,
                    const std::vector<double>& weights) {
  std::vector<double> derivatives(labels.size()), gradient(weights.size());
  features.multiply(weights, derivatives);
  glm::loss_derivatives(objective.task, derivatives, labels, derivatives);
  features.multiply_transposed(derivatives, gradient);
  double gap = 0;
  for (std::size_t j = 0; j < weights.size(); ++j)
    gap += (gradient[j] * weights[j] + *objective.box * std::abs(gradient[j])) / static_cast<double>(labels.size());
  return gap;
}

// Relative distance of a run's objective from that of exact; of a box what it is at most.
double distance_from_exact(const glm::Objective& objective, const Matrix& features, const std::vector<double>& labels,
                           AdmmSettings settings, int parties) {
  settings.rounds = 20000;
  const auto algorithm = AdmmSharing::make(objective, settings, parties);
  EXPECT_TRUE(algorithm) << algorithm.error().message;
  const Trained trained = train(*algorithm, algorithm->start(), split(features, labels, parties));
  EXPECT_TRUE(trained.converged) << trained.rounds;
  EXPECT_TRUE(glm::feasible(objective, trained.weights, {}));
  if (objective.box)
    return gap_over_box(objective, features, labels, trained.weights) /
           glm::evaluate(objective, features, labels, trained.weights);
  const auto best = exact({features, labels, objective}, {.tolerance = 1e-13}, {});
  EXPECT_TRUE(best) << best.error().message;
  return (glm::evaluate(objective, features, labels, trained.weights) - best->objective) / best->objective;
}

}  // namespace

TEST(AdmmSharing, EveryPenaltyAndSetReachesTheOptimum) {
  for (const Index columns : {12, 50})
    for (const int parties : {2, 3}) {
      const Matrix features = normal_matrix(30, columns, 3);
      const auto labels = labels_for(features, glm::Task::kLogistic, 5);
      const auto at = [&](glm::Objective objective, AdmmSettings settings = {}) {
        objective.task = glm::Task::kLogistic;
        return std::abs(distance_from_exact(objective, features, labels, settings, parties));
      };
      EXPECT_LE(at({.l2 = 0.01}), 1e-8) << columns;
      EXPECT_LE(at({.l1 = 0.02}), 1e-6) << columns;
      EXPECT_LE(at({.l1 = 0.01, .l2 = 0.01}), 1e-6) << columns;
      EXPECT_LE(at({.box = 0.3}), 1e-6) << columns;
      EXPECT_LE(at({.l2 = 0.02}, {.order = AdmmSettings::Order::kGaussSeidel}), 1e-8) << columns;
      EXPECT_LE(at({.l2 = 0.02}, {.update = AdmmSettings::Update::kPaper}), 1e-8) << columns;
      EXPECT_LE(at({.l2 = 0.02}, {.rho = 1e-4, .rho_rule = AdmmSettings::Rho::kBalanced}), 1e-8) << columns;
    }
}

// Columns twice, a column of zeros, and nothing that tells their weights apart.
TEST(AdmmSharing, ASingularBlockIsSolvedLikeAnyOther) {
  const Matrix half = normal_matrix(40, 6, 3);
  std::vector<double> values;
  for (const int copy : {0, 1})
    for (Index j = 0; j < 6; ++j)
      for (Index i = 0; i < 40; ++i) values.push_back(copy == 1 && j == 5 ? 0 : half.at(i, j));
  const Matrix features = Matrix::from_dense(40, 12, values);
  const auto labels = labels_for(half, glm::Task::kLinear, 5);
  const glm::Objective plain{.task = glm::Task::kLinear};
  const auto best = exact({half, labels, plain}, {.tolerance = 1e-13}, {});
  for (const int parties : {1, 2}) {
    const auto algorithm = AdmmSharing::make(plain, {.rounds = 20000, .rho = 1}, parties);
    const Trained trained = train(*algorithm, algorithm->start(), split(features, labels, parties));
    EXPECT_TRUE(trained.converged);
    EXPECT_NEAR(glm::evaluate(plain, features, labels, trained.weights), best->objective, 1e-9 * best->objective);
  }
}

TEST(AdmmSharing, SoftmaxHasOneVectorPerRecord) {
  const Matrix features = normal_matrix(60, 9, 3);
  std::vector<double> labels(60);
  for (std::size_t i = 0; i < 60; ++i)
    labels[i] = features.at(static_cast<Index>(i), 0) > 0.1 ? 2 : features.at(static_cast<Index>(i), 5) > 0.0 ? 1 : 0;
  for (const bool constant : {false, true}) {
    glm::Objective objective{.task = glm::Task::kSoftmax, .classes = 3, .l2 = 0.02};
    if (constant) objective.intercept = glm::Intercept::kPenalised;
    auto algorithm = AdmmSharing::make(objective, {.rounds = 5000}, 2);
    ASSERT_TRUE(algorithm) << algorithm.error().message;
    const auto shares = split(features, labels, 2, constant);
    const std::vector<PartyFacts> facts = {{.party = 0, .records = 60, .columns = 5, .row_norm = 1.5, .labels = true},
                                           {.party = 1, .records = 60, .columns = 4, .row_norm = 1.5}};
    const auto begun = algorithm->begin(facts);
    ASSERT_TRUE(begun) << begun.error().message;
    AdmmSharing::Reply another;
    for (const double label : {3.0, -1.0, 0.5}) {
      another.values = labels;
      another.values.back() = label;
      EXPECT_FALSE(algorithm->check(*begun, 0, another)) << label << " is not one of three classes";
    }
    const tests::SharingRun run = tests::run_sharing(*algorithm, *begun, shares);
    EXPECT_TRUE(algorithm->converged(run.iterate));
    EXPECT_EQ(run.iterate.sum.size(), 180u);
    const auto best = exact({features, labels, objective}, {.tolerance = 1e-13}, {});
    double penalty = 0;
    for (const auto& memory : run.memories) penalty += glm::penalty_of(objective).value(memory.weights);
    EXPECT_NEAR(glm::mean_loss(glm::Task::kSoftmax, run.iterate.sum, labels) + penalty, best->objective, 1e-8);
  }
}

TEST(AdmmSharing, GaussSeidelAsksOnePartyAtATime) {
  const Matrix features = normal_matrix(20, 6, 3);
  const auto labels = labels_for(features, glm::Task::kLogistic, 5);
  const auto algorithm =
      AdmmSharing::make({.task = glm::Task::kLogistic, .l2 = 0.1},
                        {.rounds = 2, .order = AdmmSettings::Order::kGaussSeidel, .tolerance = 0}, 3);
  EXPECT_EQ(algorithm->most_rounds(), 1 + 2 * 3);
  std::vector<std::vector<double>> before(3);
  int messages = 0;
  tests::run_sharing(*algorithm, algorithm->start(), split(features, labels, 3), [&](const tests::SharingRun& run) {
    if (messages++ == 0) return;  // labels
    const auto asked = static_cast<std::size_t>((messages - 2) % 3);
    for (std::size_t m = 0; m < 3; ++m) {
      if (m != asked) {
        EXPECT_EQ(run.memories[m].weights, before[m]) << "was not asked";
      }
      before[m] = run.memories[m].weights;
    }
    int told = 0;
    for (int m = 0; m < 3; ++m) told += algorithm->done(run.iterate) || algorithm->ask(run.iterate, m) ? 1 : 0;
    EXPECT_EQ(told, algorithm->done(run.iterate) ? 3 : 1);
  });
  EXPECT_EQ(messages, 7);
}

// Their Theorem 1 as printed: its Assumption 1 holds here, and the iteration does not converge.
TEST(AdmmSharing, ThePapersUpdateEndsWithAnErrorWhereItDiverges) {
  const Matrix ones = Matrix::from_dense(1, 3, std::vector<double>{1, 1, 1});
  const glm::Objective objective{.task = glm::Task::kLinear, .l2 = 5e-4};
  const auto run_at = [&](double rho, int rounds) {
    const auto algorithm =
        AdmmSharing::make(objective, {.rounds = rounds, .update = AdmmSettings::Update::kPaper, .rho = rho}, 3);
    return tests::run_sharing(*algorithm, algorithm->start(), split(ones, {1}, 3));
  };
  for (const int rounds : {20, 1000}) {
    const tests::SharingRun run = run_at(1.5, rounds);
    ASSERT_TRUE(run.error) << rounds;
    EXPECT_NE(run.error->message.find("algorithm.rho = 1.5"), std::string::npos) << run.error->message;
    EXPECT_NE(run.error->message.find("update = \"averaged\""), std::string::npos) << run.error->message;
    EXPECT_EQ(run.error->message.find('\n'), std::string::npos);
  }
  EXPECT_FALSE(run_at(0, 1000).error) << "the default is above the bound";
  // L (3 mu - 4)/2 = 2.5 with mu = M = 3.
  EXPECT_TRUE(run_at(2.4, 5000).error);
  EXPECT_FALSE(run_at(2.6, 5000).error);
}

TEST(AdmmSharing, StopsByItsLyapunovValue) {
  const Matrix features = normal_matrix(40, 9, 3);
  const auto labels = labels_for(features, glm::Task::kLinear, 5);
  const glm::Objective objective{.task = glm::Task::kLinear, .l1 = 0.02};
  bool rose = false;
  for (const double rho : {0.2, 1.0, 5.0}) {
    const auto algorithm = AdmmSharing::make(
        objective, {.rounds = 5000, .rho = rho, .tolerance = 1e-12, .stop = AdmmSettings::StopBy::kLyapunov}, 3);
    double before = 1e300;
    const auto seen = [&](const tests::SharingRun& at) {
      const auto v = algorithm->residual(at.iterate);
      rose = rose || (v && *v > before);
      if (v) before = *v;
    };
    const tests::SharingRun run = tests::run_sharing(*algorithm, algorithm->start(), split(features, labels, 3), seen);
    EXPECT_TRUE(algorithm->converged(run.iterate));
    EXPECT_LE(*algorithm->residual(run.iterate), 1e-12);
    EXPECT_LT(run.iterate.round, 5000);
  }
  EXPECT_TRUE(rose) << "it is no descent function";
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
  EXPECT_LE(bytes.largest_task, 32 + 100 * 8u);
  EXPECT_LE(bytes.largest_reply, 32 + 100 * 8u);
}

TEST(AdmmSharing, ARestartedPartyGoesOnFromTheTaskAlone) {
  const Matrix features = normal_matrix(20, 4, 2);
  const ColumnShare share{features, {}, false};
  const auto algorithm = AdmmSharing::make({.task = glm::Task::kLinear, .l2 = 0.1}, {}, 2);
  AdmmSharing::Memory kept, fresh;
  auto gate = privacy::Gate::without_privacy(privacy::Unprotected{});
  const AdmmSharing::Task first{AdmmSharing::kTarget, 0.5, std::vector<double>(20, 1.0), {}},
      second{AdmmSharing::kTarget, 0.5, std::vector<double>(20, -0.5), {}};
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

// Where both sides are too large for a square; here beside one.
TEST(RidgeGradients, FindWhatTheFactorFinds) {
  for (const Index cols : {5, 30}) {
    const ColumnShare share{normal_matrix(12, cols, 4), {}, true};
    std::vector<double> target(12);
    data::Random random(3, 3, 3);
    for (double& t : target) t = random.normal();
    RidgeGradients gradients(0.3);
    ASSERT_TRUE(gradients.set_rho(share, 1));
    std::vector<double> x(columns_of(share), 0.5);
    ASSERT_TRUE(gradients.solve(share, target, x));
    const auto factored = RidgeFactor::make(share, 0.3)->solve(share, target);
    for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(x[j], factored[j], 1e-11);
  }
}

// Optimality over random problems: the proximal residual is zero, wherever the search began.
TEST(BlockDescent, EndsAtTheMinimiser) {
  data::Random random(4, 4, 4);
  for (int trial = 0; trial < 60; ++trial) {
    const Index cols = 2 + trial % 25;
    const ColumnShare share{normal_matrix(12, cols, 40 + static_cast<std::uint64_t>(trial)), {}, trial % 2 == 0};
    BlockPenalty penalty{trial % 3 == 0 ? 0 : 0.3, trial % 4 == 0 ? 0.2 : 0};
    if (trial % 3 != 1) penalty.box = 0.4;
    const double rho = 0.7;
    BlockDescent descent(penalty);
    ASSERT_TRUE(descent.set_rho(share, rho));
    std::vector<double> target(12), x(columns_of(share));
    for (double& value : x) value = trial % 5 == 0 ? 0 : 0.4 * random.uniform();
    for (int round = 0; round < 3; ++round) {
      for (double& t : target) t = 2 * random.normal();
      ASSERT_TRUE(descent.solve(share, target, x));
      auto pull = margins_of(share, x);
      for (std::size_t i = 0; i < pull.size(); ++i) pull[i] = rho * (pull[i] - target[i]);
      EXPECT_LT(block_residual(share, penalty, pull, x), 1e-20) << trial;
    }
  }
}

TEST(AdmmSharing, RefusesWhatItCannotSolve) {
  EXPECT_FALSE(AdmmSharing::make({.task = glm::Task::kLinear, .l2 = 1, .l1_radius = 1}, {}, 2));
  EXPECT_FALSE(AdmmSharing::make({.task = glm::Task::kLinear, .l2 = 1, .sparsity = 2}, {}, 2));
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
    iterate.sum.assign(40, 2 * value);
    iterate.consensus.assign(40, 2 * value);
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
      const auto reply = algorithm->answer(*algorithm->ask(iterate, 1), share, memory, gate);
      ASSERT_TRUE(reply);
      EXPECT_TRUE(algorithm->check(iterate, 1, reply->value())) << scale << " x " << cols;
      AdmmSharing::Reply lie = reply->value();
      for (double& value : lie.values) value = 100 * value + 100;
      EXPECT_FALSE(algorithm->check(iterate, 1, lie));
    }
}
