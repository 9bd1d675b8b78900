#include "parley/algorithms/coordinate/greedy_cd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "parley/algorithms/coordinate/largest_score.h"
#include "parley/algorithms/exact/exact.h"
#include "parley/core/threads.h"
#include "parley/glm/batch.h"
#include "parley/glm/penalties.h"
#include "tests/algorithms/sparse_data.h"

using namespace parley;
using namespace parley::algorithms;
using glm::Intercept;
using glm::Penalty;
using glm::Task;
using linalg::Matrix;
using privacy::CoordinateModel;

namespace {

privacy::ElasticNet numbers(const Penalty& penalty) {
  return {penalty.l1, penalty.l2};
}

double model_decrease(const CoordinateModel& at, const Penalty& penalty, double alpha) {
  return -(at.gradient * alpha + 0.5 * at.smoothness * alpha * alpha + penalty.value(at.weight + alpha) -
           penalty.value(at.weight));
}

// One thread but where threads are the subject: a busy machine makes tiny parallel regions slow.
class OneThread : public testing::Environment {
  void SetUp() override { set_thread_count(1); }
};
const auto* const kOneThread = testing::AddGlobalTestEnvironment(new OneThread);

}  // namespace

TEST(GreedyRules, StepIsTheProximalStepAndScoresAreThePapers) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 2000; ++trial) {
    const Penalty penalty{trial % 2 == 0 ? 0.0 : std::abs(normal(random)),
                          trial % 3 == 0 ? 0.0 : std::abs(normal(random))};
    const CoordinateModel at{3 * normal(random), trial % 4 == 0 ? 0.0 : normal(random), 0.1 + std::abs(normal(random))};
    const double alpha = best_step(at, numbers(penalty));
    EXPECT_NEAR(alpha, penalty.prox(1 / at.smoothness, at.weight - at.gradient / at.smoothness) - at.weight, 1e-12);
    EXPECT_NEAR(greedy_score(GreedyRule::kStep, at, numbers(penalty)), std::sqrt(at.smoothness) * std::abs(alpha),
                1e-12);
    const double score = greedy_score(GreedyRule::kDecrease, at, numbers(penalty));
    EXPECT_NEAR(0.5 * score * score, model_decrease(at, penalty, alpha), 1e-11);
  }
}

TEST(GreedyRules, ScoresMoveByAtMostTheGradientOverTheRootOfSmoothness) {
  // Random and adversarial pairs: gradients across zero, at the kinks of the penalty, and huge.
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 200000; ++trial) {
    const Penalty penalty{trial % 2 == 0 ? 0.0 : std::exp(normal(random)),
                          trial % 3 == 0 ? 0.0 : std::exp(2 * normal(random))};
    const double m = std::exp(2 * normal(random));
    const double w = trial % 4 == 0 ? 0.0 : std::exp(2 * normal(random)) * (trial % 8 < 4 ? 1 : -1);
    const double kink = trial % 5 == 0 ? penalty.l1 : trial % 5 == 1 ? -penalty.l1 - penalty.l2 * w + m * w : 0;
    const double g = kink + std::exp(3 * normal(random)) * (trial % 2 == 0 ? 1 : -1) * (trial % 7 == 0 ? 1e-9 : 1);
    const double h = kink + normal(random);
    for (const GreedyRule rule : kRules) {
      if (rule == GreedyRule::kSmooth && penalty.l1 > 0) continue;
      const double a = greedy_score(rule, {g, w, m}, numbers(penalty));
      const double b = greedy_score(rule, {h, w, m}, numbers(penalty));
      const double size = std::abs(g) + std::abs(h) + penalty.l1 + (penalty.l2 + m) * std::abs(w);
      EXPECT_LE(std::abs(a - b), std::abs(g - h) / std::sqrt(m) + 16 * 1.2e-16 * size / std::sqrt(m));
    }
  }
}

TEST(LargestScore, FollowsScoresDownAsWellAsUp) {
  LargestScore largest(1000);
  std::mt19937_64 random(3);
  std::vector<double> scores(1000);
  for (int step = 0; step < 3000; ++step) {
    const std::size_t at = random() % 1000;
    scores[at] = std::ldexp(static_cast<double>(random() % 1000), -step / 100);
    largest.update(at, scores[at]);
    const std::size_t best = largest.select();
    EXPECT_EQ(best, static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin()));
  }
}

TEST(KeptMargins, RowsAndPassesGiveTheSameSumsAndLoss) {
  for (const Task task : {Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax}) {
    const Data data = sparse_data(task, 300, 40, 0.2, 4);
    const Problem problem{data.features, data.labels, objective_of(task, 0, 0, Intercept::kPenalised)};
    KeptMargins rows(problem, Upkeep::kRows), pass(problem, Upkeep::kPass);
    PlainSums row_sums(problem), pass_sums(problem);
    rows.refresh(row_sums);
    pass.refresh(pass_sums);
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    for (int step = 0; step < 100; ++step) {
      const std::size_t at = random() % rows.coordinates();
      const double change = normal(random);
      const std::vector<double> before = [&] {
        std::vector<double> all;
        for (std::size_t c = 0; c < rows.coordinates(); ++c) all.push_back(row_sums.gradient(c));
        return all;
      }();
      const Changed changed = rows.add(at, change, row_sums);
      pass.add(at, change, pass_sums);
      for (std::size_t c = 0; c < rows.coordinates(); ++c) {
        ASSERT_NEAR(row_sums.gradient(c), pass_sums.gradient(c), 1e-12) << c;
        const auto touched = row_sums.touched();
        if (changed == Changed::kTouched && std::find(touched.begin(), touched.end(), c) == touched.end()) {
          ASSERT_EQ(row_sums.gradient(c), before[c]);
        }
      }
      row_sums.forget_touched();
      ASSERT_NEAR(rows.mean_loss(), pass.mean_loss(), 1e-9 * (1 + pass.mean_loss()));
    }
  }
}

TEST(KeptMargins, ARefreshByRowsGivesTheSumsOfAPass) {
  for (const Task task : kTasks) {
    const Data data = sparse_data(task, 200, 50, 0.1, 60);
    const Problem problem{data.features, data.labels, objective_of(task, 0, 0, Intercept::kPenalised)};
    KeptMargins by_pass(problem, Upkeep::kPass), by_rows(problem, Upkeep::kRows);
    PlainSums passed(problem), pushed(problem);
    by_pass.refresh(passed);
    by_rows.refresh(pushed);
    double scale = 1;
    for (std::size_t step = 0; step < 20; ++step) {
      scale *= 0.9;
      const std::size_t coordinate = step * 7 % by_rows.coordinates();
      EXPECT_EQ(by_pass.shrink_add_and_refresh(1, scale, coordinate, 0.1, passed), Changed::kAll);
      EXPECT_EQ(by_rows.shrink_add_and_refresh(1, scale, coordinate, 0.1, pushed), Changed::kTouched);
      pushed.forget_touched();
      for (std::size_t c = 0; c < by_rows.coordinates(); ++c)
        EXPECT_NEAR(pushed.gradient(c), passed.gradient(c), 1e-12);
      EXPECT_DOUBLE_EQ(by_rows.mean_loss(), by_pass.mean_loss());
    }
  }
}

TEST(GreedyCd, ReachesTheReferenceOptimumForEveryLossPenaltyAndRule) {
  for (const Task task : {Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax}) {
    const Data data = sparse_data(task, 200, 12, 0.5, 8);
    for (const Penalty penalty : {Penalty{0.01, 0}, Penalty{0, 0.05}, Penalty{0.01, 0.05}})
      for (const Intercept intercept : {Intercept::kNone, Intercept::kFree, Intercept::kPenalised}) {
        const Problem problem{data.features, data.labels, objective_of(task, penalty.l1, penalty.l2, intercept)};
        const auto best = exact(problem, {.tolerance = 1e-10}, {});
        ASSERT_TRUE(best) << best.error().message;
        for (const GreedyRule rule : kRules) {
          if (rule == GreedyRule::kSmooth && penalty.l1 > 0) continue;
          const auto fit = greedy_cd(problem, {.iterations = 20000, .rule = rule, .tolerance = 1e-13}, {});
          ASSERT_TRUE(fit) << fit.error().message;
          EXPECT_EQ(fit->stop, Stop::kConverged);
          EXPECT_LE(fit->objective, best->objective + 1e-8) << static_cast<int>(task) << " " << static_cast<int>(rule);
          EXPECT_LE(fit->gap, 1e-5);
        }
      }
  }
}

TEST(GreedyCd, NeverRaisesTheObjectiveAtStepOne) {
  const Data data = sparse_data(Task::kLogistic, 300, 30, 0.3, 9);
  const Problem problem{data.features, data.labels, objective_of(Task::kLogistic, 0.005, 0)};
  for (const SmoothnessFrom smoothness : {SmoothnessFrom::kData, SmoothnessFrom::kBounds}) {
    const auto fit = greedy_cd(problem, {.iterations = 200, .smoothness = smoothness}, {});
    ASSERT_TRUE(fit);
    for (std::size_t t = 1; t < fit->history.size(); ++t) EXPECT_LE(fit->history[t], fit->history[t - 1] + 1e-14);
  }
}

TEST(GreedyCd, GivesTheSameBytesForAnyNumberOfThreads) {
  const Data data = sparse_data(Task::kSoftmax, 400, 50, 0.1, 10);
  const Problem problem{data.features, data.labels, objective_of(Task::kSoftmax, 0.001, 0.01)};
  set_thread_count(1);
  const auto one = greedy_cd(problem, {.iterations = 100}, {});
  set_thread_count(2);
  const auto two = greedy_cd(problem, {.iterations = 100}, {});
  set_thread_count(1);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->weights, two->weights);
  EXPECT_EQ(one->history, two->history);
}

TEST(GreedyCd, StopsWhenAskedAndKeepsItsModel) {
  const Data data = sparse_data(Task::kLogistic, 100, 20, 0.5, 11);
  const Problem problem{data.features, data.labels, objective_of(Task::kLogistic, 0, 0.01)};
  const auto fit = greedy_cd(problem, {.iterations = 100}, [](const Progress& at) { return at.iteration < 7; });
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->stop, Stop::kInterrupted);
  EXPECT_EQ(fit->iterations, 7);
  EXPECT_LT(fit->objective, std::log(2.0));
}

TEST(GreedyCd, RefusesWhatItCannotDo) {
  const Data data = sparse_data(Task::kLogistic, 20, 5, 0.5, 12);
  const auto refusal = [&](glm::Objective objective, GreedySettings settings) {
    const auto fit = greedy_cd({data.features, data.labels, objective}, settings, {});
    return fit ? std::string() : fit.error().message;
  };
  glm::Objective ball = objective_of(Task::kLogistic, 0, 0);
  ball.l1_radius = 3;
  EXPECT_NE(refusal(ball, {}).find("l1_radius"), std::string::npos);
  glm::Objective sparse = objective_of(Task::kLogistic, 0, 0);
  sparse.sparsity = 3;
  EXPECT_NE(refusal(sparse, {}).find("sparsity"), std::string::npos);
  EXPECT_NE(refusal(objective_of(Task::kLogistic, 0.1, 0), {.rule = GreedyRule::kSmooth}).find("gs-s"),
            std::string::npos);
  EXPECT_NE(refusal(objective_of(Task::kLogistic, 0, 0), {.iterations = 0}).find("iterations"), std::string::npos);
  EXPECT_NE(refusal(objective_of(Task::kLogistic, 0, 0), {.step = 0}).find("step"), std::string::npos);
  EXPECT_NE(refusal(objective_of(Task::kLogistic, 0, 0), {.tolerance = -1}).find("tolerance"), std::string::npos);
}
