#include <gtest/gtest.h>

#include "parley/algorithms/coordinate/greedy_cd.h"
#include "parley/algorithms/coordinate/greedy_cd_noise.h"
#include "parley/core/threads.h"
#include "parley/privacy/sensitivity/exact_sums.h"
#include "tests/algorithms/sparse_data.h"
#include "tests/algorithms/test_site.h"

using namespace parley;
using namespace parley::algorithms;

namespace {

// R so large that nothing is clipped on this data.
double unclipped(Task task) {
  return task == Task::kLogistic || task == Task::kSoftmax ? 1.0 : 16.0;
}

Fit privately(const Data& data, const glm::Objective& objective, const GreedySettings& settings,
              const TestSite::Limits& limits) {
  const TestSite site(data.features, limits);
  auto fit = greedy_cd(site.problem(data.labels, objective), settings, {});
  EXPECT_TRUE(fit) << fit.error().message;
  return fit ? *fit : Fit{};
}

}  // namespace

TEST(PrivateGreedyCd, EqualsItsTwinWhenEpsilonIsHuge) {
  for (const Task task : kTasks)
    for (const GreedyRule rule : kRules) {
      if (task != Task::kLogistic && rule != GreedyRule::kStep) continue;  // every loss, and every rule once
      const Data data = sparse_data(task, 4000, 10, 0.5, 20);
      const double l1 = rule == GreedyRule::kSmooth ? 0 : 0.01;
      const glm::Objective objective = objective_of(task, l1, 0.01);
      GreedySettings settings{.iterations = 15, .rule = rule, .tolerance = 0, .smoothness = SmoothnessFrom::kBounds};
      const auto open = greedy_cd({data.features, data.labels, objective}, settings, {});
      ASSERT_TRUE(open);
      settings.smoothness.reset();
      const Fit gated = privately(data, objective, settings, {.epsilon = 1e6, .derivative_bound = unclipped(task)});
      EXPECT_EQ(gated.iterations, 15);
      for (std::size_t c = 0; c < open->weights.size(); ++c)
        EXPECT_NEAR(gated.weights[c], open->weights[c], 1e-6)
            << static_cast<int>(task) << " " << static_cast<int>(rule);
      EXPECT_NEAR(gated.objective, open->objective, 1e-6);
    }
}

TEST(PrivateGreedyCd, EqualsItsTwinWithTheDatasSmoothnessWhenEpsilonIsHuge) {
  const Data data = sparse_data(Task::kLogistic, 4000, 10, 0.5, 20);
  const glm::Objective objective = objective_of(Task::kLogistic, 0.01, 0.01);
  const auto open = greedy_cd({data.features, data.labels, objective}, {.iterations = 15, .tolerance = 0}, {});
  ASSERT_TRUE(open);
  const Fit gated =
      privately(data, objective, {.iterations = 15},
                {.epsilon = 1e6, .smoothness = privacy::Smoothness::kPrivate, .row_bound = std::sqrt(10.0)});
  EXPECT_EQ(gated.releases, 31);
  EXPECT_NEAR(gated.objective, open->objective, 1e-6);
}

TEST(PrivateGreedyCd, TheModelIsMadeOfReleasedValuesOnlyWithItsSmoothness) {
  const Data data = sparse_data(Task::kLogistic, 4000, 8, 0.4, 21);
  const Data others = sparse_data(Task::kLogistic, 4000, 8, 0.9, 22);
  const glm::Objective objective = objective_of(Task::kLogistic, 0.001, 0, Intercept::kPenalised);
  const TestSite::Limits limits{.epsilon = 2, .smoothness = privacy::Smoothness::kPrivate, .row_bound = std::sqrt(8.0)};
  const TestSite site(data.features, limits);
  const auto fit = greedy_cd(site.problem(data.labels, objective), {.iterations = 12}, {});
  ASSERT_TRUE(fit) << fit.error().message;
  const TestSite replayed(others.features, limits, site.gate().transcript());
  const auto again = greedy_cd(replayed.problem(others.labels, objective), {.iterations = 12}, {});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->weights, fit->weights);
  EXPECT_EQ(again->intercepts, fit->intercepts);
  const TestSite bounds(data.features, {.epsilon = 2});
  EXPECT_NE(greedy_cd(bounds.problem(data.labels, objective), {.iterations = 12}, {})->weights, fit->weights);
}

TEST(PrivateGreedyCd, TheModelIsMadeOfReleasedValuesOnly) {
  // Replayed over different people's records, the transcript gives the same model to the bit.
  for (const Task task : kTasks)
    for (const GreedyRule rule : kRules)
      for (const privacy::Calibration calibration : {privacy::Calibration::kProved, privacy::Calibration::kPaper}) {
        const bool usual = task == Task::kLogistic && rule == GreedyRule::kStep;
        if (!usual &&
            (calibration == privacy::Calibration::kPaper || (task != Task::kLogistic && rule != GreedyRule::kStep)))
          continue;
        const Data data = sparse_data(task, 400, 30, 0.2, 21);
        const Data others = sparse_data(task, 400, 30, 0.2, 22);
        const glm::Objective objective =
            objective_of(task, rule == GreedyRule::kSmooth ? 0 : 0.001, 0, Intercept::kPenalised);
        const GreedySettings settings{.iterations = 12, .rule = rule};
        const TestSite::Limits limits{.epsilon = 2, .budget = 50, .calibration = calibration};
        const TestSite site(data.features, limits);
        const auto fit = greedy_cd(site.problem(data.labels, objective), settings, {});
        ASSERT_TRUE(fit) << fit.error().message;
        EXPECT_EQ(fit->releases, 24);
        const TestSite replayed(others.features, limits, site.gate().transcript());
        const auto again = greedy_cd(replayed.problem(others.labels, objective), settings, {});
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(again->weights, fit->weights);
        EXPECT_EQ(again->intercepts, fit->intercepts);
      }
}

TEST(PrivateGreedyCd, RowsAndPassesGiveTheSameRunToTheBit) {
  for (const Task task : kTasks) {
    const Data data = sparse_data(task, 300, 60, 0.1, 23);
    const glm::Objective objective = objective_of(task, 0.001, 0.01, Intercept::kPenalised);
    const TestSite::Limits limits{.epsilon = 4, .derivative_bound = 2};
    GreedySettings settings{.iterations = 40, .upkeep = Upkeep::kRows};
    const Fit rows = privately(data, objective, settings, limits);
    settings.upkeep = Upkeep::kPass;
    const Fit pass = privately(data, objective, settings, limits);
    EXPECT_EQ(rows.weights, pass.weights);
    set_thread_count(2);
    const Fit threads = privately(data, objective, settings, limits);
    set_thread_count(1);
    EXPECT_EQ(threads.weights, pass.weights);
  }
}

TEST(PrivateGreedyCd, LosesUtilityAsEpsilonShrinks) {
  const Data data = sparse_data(Task::kLogistic, 2000, 20, 0.3, 24);
  const glm::Objective objective = objective_of(Task::kLogistic, 0, 0.001);
  double last = 0;
  for (const double epsilon : {100.0, 1.0, 0.01}) {
    double mean = 0;
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      mean += privately(data, objective, {.iterations = 20}, {.epsilon = epsilon, .seed = seed}).objective / 4;
    EXPECT_GT(mean, last) << epsilon;
    last = mean;
  }
  EXPECT_GT(last, 2 * std::log(2.0)) << "at epsilon = 0.01 the noise is far above any signal";
}

TEST(PrivateGreedyCd, ChargesNoMoreThanItsTargetAndTheTruthForThePapersNoise) {
  const Data data = sparse_data(Task::kLogistic, 500, 20, 0.3, 25);
  const glm::Objective objective = objective_of(Task::kLogistic, 0, 0.001);
  for (const int steps : {1, 3, 50}) {
    const TestSite site(data.features, {});
    const auto fit = greedy_cd(site.problem(data.labels, objective), {.iterations = steps}, {});
    ASSERT_TRUE(fit);
    EXPECT_EQ(fit->stop, Stop::kIterations) << "the target holds all steps";
    EXPECT_LE(site.gate().receipts().front().epsilon, 1.0);
    EXPECT_GT(site.gate().receipts().front().epsilon, 0.99);
  }
  const TestSite paper(data.features, {.budget = 100, .calibration = privacy::Calibration::kPaper});
  ASSERT_TRUE(greedy_cd(paper.problem(data.labels, objective), {.iterations = 1}, {}));
  // One step: e' = 1/2 for the selection, which costs 2e' = 1, and e' for the value.
  EXPECT_NEAR(paper.gate().receipts().front().epsilon, 1.5, 1e-3);
}

TEST(PrivateGreedyCd, StopsWhereTheBudgetEndsAndKeepsItsModel) {
  const Data data = sparse_data(Task::kLogistic, 500, 20, 0.3, 26);
  const Fit fit =
      privately(data, objective_of(Task::kLogistic, 0, 0.001), {.iterations = 50}, {.epsilon = 1, .budget = 0.5});
  EXPECT_EQ(fit.stop, Stop::kBudgetEnded);
  EXPECT_GT(fit.iterations, 0);
  EXPECT_LT(fit.iterations, 50);
  EXPECT_EQ(fit.history.size(), static_cast<std::size_t>(fit.iterations));
}

TEST(PrivateGreedyCd, TakesStepsAndShareFromPublicNumbers) {
  const privacy::Target target{*privacy::Epsilon::make(1), *privacy::Delta::make(1e-6)};
  EXPECT_EQ(greedy_steps(target, 50, 100), 1) << "too little data for more";
  EXPECT_GT(greedy_steps(target, 10000, 100), greedy_steps(target, 1000, 100));
  EXPECT_GT(greedy_steps(target, 3000, 100), greedy_steps(target, 3000, 100000));
  EXPECT_GT(selection_share(100000), selection_share(10));
  const Data data = sparse_data(Task::kLogistic, 1000, 20, 0.3, 27);
  const Fit fit = privately(data, objective_of(Task::kLogistic, 0, 0.001), {}, {});
  EXPECT_EQ(fit.iterations, greedy_steps(target, 1000, 20));
}

TEST(PrivateGreedyCd, RefusesWhatWouldLookAtTheData) {
  const Data data = sparse_data(Task::kLogistic, 50, 5, 0.5, 28);
  const TestSite site(data.features, {});
  const auto refusal = [&](Intercept intercept, GreedySettings settings) {
    const auto fit =
        greedy_cd(site.problem(data.labels, objective_of(Task::kLogistic, 0, 0.1, intercept)), settings, {});
    return fit ? std::string() : fit.error().message;
  };
  EXPECT_NE(refusal(Intercept::kFree, {}).find("intercept"), std::string::npos);
  EXPECT_NE(refusal(Intercept::kNone, {.smoothness = SmoothnessFrom::kData}).find("smoothness"), std::string::npos);
  EXPECT_NE(refusal(Intercept::kNone, {.share = 1.0}).find("share"), std::string::npos);
}

TEST(PrivateGreedyCd, OneRecordMovesNoScoreByMoreThanItsSensitivity) {
  // Neighbours whose first records are as far apart as the bounds allow, followed through the same changes.
  std::mt19937_64 random(29);
  std::normal_distribution<double> normal;
  static constexpr double kBound = 0.75;
  for (const Task task : kTasks)
    for (const GreedyRule rule : kRules) {
      const Data data = sparse_data(task, 60, 12, 0.5, 30);
      std::vector<double> values;
      for (int j = 0; j < 12; ++j)
        for (int i = 0; i < 60; ++i)
          values.push_back(i == 0 ? (random() % 2 == 0 ? 1.0 : -1.0) : data.features.at(i, j));
      std::vector<double> labels = data.labels;
      labels[0] = task == Task::kSoftmax ? std::fmod(labels[0] + 1, 3) : -labels[0] - (task == Task::kLinear ? 9 : 0);
      const Matrix other = Matrix::from_dense(60, 12, values);
      const glm::Objective objective = objective_of(task, rule == GreedyRule::kSmooth ? 0 : 0.02, 0.05);
      const Problem here{data.features, data.labels, objective}, there{other, labels, objective};
      KeptMargins a(here, Upkeep::kRows), b(there, Upkeep::kRows);
      // The clipped sums themselves, open so that they can be compared.
      PlainSums sums_a(here), sums_b(there);
      const std::size_t classes = task == Task::kSoftmax ? 3 : 1;
      const std::vector<double> smoothness(12, 0.25);
      std::vector<double> weights(12 * classes);
      const GreedyScores scores(rule, {objective.l1, objective.l2}, weights, smoothness);
      struct Clipped {
        PlainSums* to;
        std::vector<double> held;
        void assign(std::span<const double> q) {
          held.assign(q.begin(), q.end());
          for (double& x : held) x = std::clamp(x, -kBound, kBound);
          to->assign(held);
        }
        void assign_rows(std::span<const linalg::Index> rows, std::span<const double> q) {
          held.assign(q.begin(), q.end());
          for (double& x : held) x = std::clamp(x, -kBound, kBound);
          to->assign_rows(rows, held);
        }
      } clip_a{&sums_a, {}}, clip_b{&sums_b, {}};
      a.refresh(clip_a);
      b.refresh(clip_b);
      double largest = 0;
      for (int step = 0; step < 40; ++step) {
        const std::size_t at = random() % weights.size();
        const double change = 2 * normal(random);
        weights[at] += change;
        a.add(at, change, clip_a);
        b.add(at, change, clip_b);
        for (std::size_t c = 0; c < weights.size(); ++c)
          largest =
              std::max(largest, std::abs(scores.score(c, sums_a.gradient(c)) - scores.score(c, sums_b.gradient(c))));
      }
      const double sensitivity = 2 * kBound / 60 * scores.slope(0);
      EXPECT_LE(largest, sensitivity * (1 + 1e-9));
      EXPECT_GT(largest, 0.3 * sensitivity) << "the attack is a real one";
    }
}

// Private Frank-Wolfe shrinks every margin and refreshes the derivatives of a column's rows alone. Which way the sums
// are then added up is decided by costs, which other records have a part in: it must not show in a single bit.
TEST(KeptMarginsThatShrink, GiveTheSameScoresByRowsAndInAPass) {
  for (const Task task : {Task::kLogistic, Task::kSquaredHinge}) {
    const Data data = sparse_data(task, 80, 12, 0.4, 5);
    const glm::Objective objective = objective_of(task, 0, 0);
    const Problem problem{data.features, data.labels, objective};
    const auto grid = *privacy::GridFeatures::make(data.features, std::vector<double>(12, 4.0));
    auto by_rows = *privacy::ExactSums::make(grid, {});
    auto in_a_pass = *privacy::ExactSums::make(grid, {});
    KeptMargins rows(problem, Upkeep::kRows), pass(problem, Upkeep::kPass);
    rows.refresh(by_rows);
    pass.refresh(in_a_pass);
    double scale = 1;
    for (std::size_t step = 0; step < 30; ++step) {
      scale *= 0.9;
      const std::size_t at = step * 7 % 12;
      EXPECT_EQ(rows.shrink_and_add(1, scale, at, 0.3, by_rows), Changed::kTouched);
      EXPECT_EQ(pass.shrink_and_add(1, scale, at, 0.3, in_a_pass), Changed::kAll);
      const auto shown = [](privacy::ExactSums& sums) {
        return privacy::Gate::in_the_clear(sums.scores(privacy::VertexRule{}), privacy::Unprotected{}).value();
      };
      EXPECT_EQ(shown(by_rows), shown(in_a_pass)) << step;
    }
  }
}
