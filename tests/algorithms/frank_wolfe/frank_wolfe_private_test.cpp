// labels: slow
#include "parley/algorithms/frank_wolfe/frank_wolfe_private.h"

#include <gtest/gtest.h>

#include "parley/algorithms/frank_wolfe/frank_wolfe.h"
#include "parley/core/threads.h"
#include "parley/glm/sets.h"
#include "tests/algorithms/sparse_data.h"
#include "tests/algorithms/test_site.h"
#include "tests/support/sanitized.h"

using namespace parley;
using namespace parley::algorithms;

namespace {

glm::Objective ball(Task task, double radius, double l2 = 0, Intercept intercept = Intercept::kNone) {
  glm::Objective objective = objective_of(task, 0, l2, intercept);
  objective.l1_radius = radius;
  return objective;
}

// The same columns, and empty ones after each up to `columns` of them.
Data with_empty_columns(const Data& data, int columns) {
  const linalg::Index apart = columns / data.features.cols();
  std::vector<std::size_t> offsets{0};
  std::vector<linalg::Index> places;
  std::vector<double> values;
  for (linalg::Index i = 0; i < data.features.rows(); ++i) {
    for (const linalg::RowEntry& entry : data.features.row(i)) {
      places.push_back(apart * entry.column);
      values.push_back(entry.value);
    }
    offsets.push_back(places.size());
  }
  Data wide = data;
  wide.features = linalg::Matrix::from_rows(columns, offsets, places, values);
  return wide;
}

double unclipped(Task task) {
  return task == Task::kLogistic || task == Task::kSoftmax ? 1.0 : 32.0;
}

Fit privately(const Data& data, const glm::Objective& objective, const FrankWolfeSettings& settings,
              const TestSite::Limits& limits) {
  const TestSite site(data.features, limits);
  auto fit = frank_wolfe(site.problem(data.labels, objective), settings, {});
  EXPECT_TRUE(fit) << fit.error().message;
  return fit ? *fit : Fit{};
}

}  // namespace

TEST(PrivateFrankWolfe, EqualsItsTwinWhenEpsilonIsHuge) {
  for (const Task task : kTasks) {
    const Data data = sparse_data(task, 2000, 12, 0.5, 40);
    const glm::Objective objective = ball(task, 6, 0.01, Intercept::kPenalised);
    const FrankWolfeSettings settings{
        .iterations = 25, .step = FrankWolfeStep::kOpenLoop, .gap_tolerance = 0, .mode = FrankWolfeMode::kPlain};
    const auto open = frank_wolfe({data.features, data.labels, objective}, settings, {});
    ASSERT_TRUE(open) << open.error().message;
    const Fit gated = privately(data, objective, settings, {.epsilon = 1e6, .derivative_bound = unclipped(task)});
    ASSERT_EQ(gated.weights.size(), open->weights.size());
    for (std::size_t c = 0; c < open->weights.size(); ++c) EXPECT_NEAR(gated.weights[c], open->weights[c], 1e-6);
    for (std::size_t c = 0; c < open->intercepts.size(); ++c)
      EXPECT_NEAR(gated.intercepts[c], open->intercepts[c], 1e-6);
    EXPECT_NEAR(gated.objective, open->objective, 1e-6) << static_cast<int>(task);
  }
}

TEST(PrivateFrankWolfe, LeastSquaresByGramColumnsEqualsItsTwinWhenEpsilonIsHuge) {
  for (const double density : {0.05, 1.0}) {
    const Data data = sparse_data(Task::kLinear, 1000, 40, density, 49);
    const glm::Objective objective = ball(Task::kLinear, 8, 0.01);
    const FrankWolfeSettings settings{.iterations = 60, .step = FrankWolfeStep::kOpenLoop, .gap_tolerance = 0};
    const auto open = frank_wolfe({data.features, data.labels, objective}, settings, {});
    ASSERT_TRUE(open) << open.error().message;
    const Fit gated = privately(data, objective, settings, {.epsilon = 1e6, .derivative_bound = 64, .label_bound = 20});
    for (std::size_t c = 0; c < open->weights.size(); ++c) EXPECT_NEAR(gated.weights[c], open->weights[c], 1e-6);
  }
}

// Windows of scales are opened without columns that are empty.
TEST(PrivateFrankWolfe, LeastSquaresWithEmptyColumnsEqualsItsTwinWhenEpsilonIsHuge) {
  const Data data = with_empty_columns(sparse_data(Task::kLinear, 1000, 40, 0.05, 49), 4000);
  const glm::Objective objective = ball(Task::kLinear, 8);
  const FrankWolfeSettings settings{.iterations = 60, .step = FrankWolfeStep::kOpenLoop, .gap_tolerance = 0};
  const auto open = frank_wolfe({data.features, data.labels, objective}, settings, {});
  ASSERT_TRUE(open) << open.error().message;
  const Fit gated = privately(data, objective, settings, {.epsilon = 1e8, .derivative_bound = 64, .label_bound = 20});
  for (std::size_t c = 0; c < open->weights.size(); ++c) EXPECT_NEAR(gated.weights[c], open->weights[c], 1e-6);
}

TEST(PrivateFrankWolfe, TheModelIsMadeOfReleasedIndicesOnly) {
  for (const Task task : kTasks) {
    const Data data = sparse_data(task, 400, 30, 0.1, 41);
    const Data others = sparse_data(task, 400, 30, 0.1, 42);
    const glm::Objective objective = ball(task, 5, 0.01, Intercept::kPenalised);
    for (const privacy::Calibration calibration : {privacy::Calibration::kProved, privacy::Calibration::kPaper}) {
      const TestSite::Limits limits{.epsilon = 1, .budget = 50, .calibration = calibration};
      const TestSite site(data.features, limits);
      const auto fit = frank_wolfe(site.problem(data.labels, objective), {.iterations = 60}, {});
      ASSERT_TRUE(fit) << fit.error().message;
      EXPECT_EQ(fit->releases, 60);
      EXPECT_TRUE(glm::L1Ball{5.0}.contains(fit->weights, 1e-9));
      const TestSite replayed(others.features, limits, site.gate().transcript());
      const auto again = frank_wolfe(replayed.problem(others.labels, objective), {.iterations = 60}, {});
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(again->weights, fit->weights);
      EXPECT_EQ(again->intercepts, fit->intercepts);
    }
  }
}

TEST(PrivateFrankWolfe, TheModelOfLeastSquaresIsMadeOfReleasedIndicesOnly) {
  const Data data = sparse_data(Task::kLinear, 400, 30, 0.1, 51);
  const Data others = sparse_data(Task::kLinear, 400, 30, 0.1, 52);
  const TestSite::Limits limits{.epsilon = 2, .derivative_bound = 30, .label_bound = 20};
  const TestSite site(data.features, limits);
  const auto fit = frank_wolfe(site.problem(data.labels, ball(Task::kLinear, 5)), {.iterations = 60}, {});
  ASSERT_TRUE(fit) << fit.error().message;
  const TestSite replayed(others.features, limits, site.gate().transcript());
  const auto again = frank_wolfe(replayed.problem(others.labels, ball(Task::kLinear, 5)), {.iterations = 60}, {});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->weights, fit->weights);
}

TEST(PrivateFrankWolfe, LazyEndsWithinOnePercentOfPlain) {
  PARLEY_SKIP_WHEN_SANITIZED();
  for (const Task task : {Task::kLogistic, Task::kSquaredHinge}) {
    const Data data = sparse_data(task, 3000, 200, 0.05, 43);
    const glm::Objective objective = ball(task, 12);
    for (const double epsilon : {4.0, 1000.0}) {
      double lazy = 0, plain = 0;
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const TestSite::Limits limits{.epsilon = epsilon, .derivative_bound = 2, .seed = seed};
        lazy += privately(data, objective, {.iterations = 300}, limits).objective;
        plain += privately(data, objective, {.iterations = 300, .mode = FrankWolfeMode::kPlain}, limits).objective;
      }
      EXPECT_NEAR(lazy, plain, 0.01 * plain) << static_cast<int>(task) << " " << epsilon;
    }
  }
}

// A refresh goes through the rows instead of all columns when most of them are empty.
TEST(PrivateFrankWolfe, LazyEndsWithinOnePercentOfPlainWithEmptyColumns) {
  PARLEY_SKIP_WHEN_SANITIZED();
  const Data data = with_empty_columns(sparse_data(Task::kLogistic, 1000, 100, 0.05, 54), 20000);
  for (const double l2 : {0.0, 0.01}) {
    const glm::Objective objective = ball(Task::kLogistic, 12, l2);
    const TestSite::Limits limits{.epsilon = 1e6};
    const double lazy = privately(data, objective, {.iterations = 150}, limits).objective;
    const double plain =
        privately(data, objective, {.iterations = 150, .mode = FrankWolfeMode::kPlain}, limits).objective;
    EXPECT_NEAR(lazy, plain, 0.01 * plain) << l2;
  }
}

TEST(PrivateFrankWolfe, RefreshesDependOnTheStepAloneAndBecomeRare) {
  int refreshes = 0;
  for (int t = 0, last = 0; t < 1000; ++t)
    if (refresh_due(t, last)) {
      last = t;
      ++refreshes;
    }
  EXPECT_GT(refreshes, 20);
  EXPECT_LT(refreshes, 60);
}

TEST(PrivateFrankWolfe, GivesTheSameBytesForAnyNumberOfThreads) {
  const Data data = sparse_data(Task::kLogistic, 500, 60, 0.1, 44);
  set_thread_count(1);
  const Fit one = privately(data, ball(Task::kLogistic, 5), {.iterations = 50}, {});
  set_thread_count(2);
  const Fit two = privately(data, ball(Task::kLogistic, 5), {.iterations = 50}, {});
  set_thread_count(1);
  EXPECT_EQ(one.weights, two.weights);
}

TEST(PrivateFrankWolfe, LosesUtilityAsEpsilonShrinks) {
  const Data data = sparse_data(Task::kLogistic, 3000, 20, 0.3, 45);
  double last = 0;
  for (const double epsilon : {100.0, 1.0, 0.02}) {
    double mean = 0;
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      mean +=
          privately(data, ball(Task::kLogistic, 10), {.iterations = 60}, {.epsilon = epsilon, .seed = seed}).objective /
          4;
    EXPECT_GT(mean, last) << epsilon;
    last = mean;
  }
}

TEST(PrivateFrankWolfe, StopsWhereTheBudgetEndsAndKeepsItsModel) {
  const Data data = sparse_data(Task::kLogistic, 500, 20, 0.3, 46);
  const Fit fit = privately(data, ball(Task::kLogistic, 3), {.iterations = 100}, {.epsilon = 1, .budget = 0.5});
  EXPECT_EQ(fit.stop, Stop::kBudgetEnded);
  EXPECT_GT(fit.iterations, 0);
  EXPECT_LT(fit.iterations, 100);
}

TEST(PrivateFrankWolfe, ThePapersNoiseCostsMoreThanItsTarget) {
  const Data data = sparse_data(Task::kLogistic, 500, 20, 0.3, 47);
  const TestSite paper(data.features, {.budget = 100, .calibration = privacy::Calibration::kPaper});
  ASSERT_TRUE(frank_wolfe(paper.problem(data.labels, ball(Task::kLogistic, 3)), {.iterations = 200}, {}));
  EXPECT_GT(paper.gate().receipts().front().epsilon, 1.2);
  const TestSite proved(data.features, {});
  ASSERT_TRUE(frank_wolfe(proved.problem(data.labels, ball(Task::kLogistic, 3)), {.iterations = 200}, {}));
  EXPECT_LE(proved.gate().receipts().front().epsilon, 1.0);
  EXPECT_GT(proved.gate().receipts().front().epsilon, 0.99);
}

TEST(PrivateFrankWolfe, RefusesWhatWouldLookAtTheData) {
  const Data data = sparse_data(Task::kLogistic, 50, 5, 0.5, 48);
  const TestSite site(data.features, {});
  const auto refusal = [&](Intercept intercept, FrankWolfeSettings settings) {
    const auto fit = frank_wolfe(site.problem(data.labels, ball(Task::kLogistic, 3, 0, intercept)), settings, {});
    return fit ? std::string() : fit.error().message;
  };
  EXPECT_NE(refusal(Intercept::kFree, {}).find("intercept"), std::string::npos);
  EXPECT_NE(refusal(Intercept::kNone, {.step = FrankWolfeStep::kLineSearch}).find("step"), std::string::npos);
  EXPECT_NE(refusal(Intercept::kNone, {.step = FrankWolfeStep::kShort}).find("step"), std::string::npos);
}
