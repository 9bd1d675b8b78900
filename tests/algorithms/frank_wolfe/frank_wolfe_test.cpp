#include "parley/algorithms/frank_wolfe/frank_wolfe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "parley/algorithms/frank_wolfe/frank_wolfe_scan.h"
#include "parley/core/threads.h"
#include "parley/glm/batch.h"
#include "parley/glm/sets.h"
#include "parley/linalg/vectors.h"

using namespace parley;
using namespace parley::algorithms;
using glm::Intercept;
using glm::Task;
using linalg::Matrix;

namespace {

struct Data {
  Matrix features;
  std::vector<double> labels;
};

// Rows with a share of nonzeros, features away from mean zero so that intercepts matter; noisy labels.
Data noisy_data(Task task, int rows, int columns, double density, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> values;
  for (int at = 0; at < rows * columns; ++at) values.push_back(uniform(random) < density ? normal(random) + 0.3 : 0.0);
  Data data{Matrix::from_dense(rows, columns, values), {}};
  for (int i = 0; i < rows; ++i) {
    double margin = 0.7 + 0.5 * normal(random);
    for (int j = 0; j < std::min(columns, 3); ++j)
      margin += (j == 1 ? -2.0 : 1.0) * values[static_cast<std::size_t>(j * rows + i)];
    if (task == Task::kLinear)
      data.labels.push_back(margin);
    else if (task == Task::kSoftmax)
      data.labels.push_back(margin > 1 ? 2 : margin > 0 ? 1 : 0);
    else
      data.labels.push_back(margin > 0 ? 1 : -1);
  }
  return data;
}

glm::Objective objective_of(Task task, double radius, double l2 = 0, Intercept intercept = Intercept::kNone) {
  return {
      .task = task, .classes = task == Task::kSoftmax ? 3 : 1, .l2 = l2, .l1_radius = radius, .intercept = intercept};
}

const Observer kSilent;

// <grad, W - s> at the fit, from the definitions.
double gap_of(const Problem& problem, const Fit& fit) {
  const auto n = problem.labels.size();
  const auto d = static_cast<std::size_t>(problem.features.cols());
  const auto classes = static_cast<std::size_t>(problem.objective.classes);
  std::vector<double> margins(n * classes);
  glm::compute_margins(problem.features, fit.weights, fit.intercepts, margins);
  glm::loss_derivatives(problem.objective.task, margins, problem.labels, margins);
  double inner = 0;
  double largest = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    const auto plane = std::span(margins).subspan(k * n, n);
    for (std::size_t j = 0; j < d; ++j) {
      const double w = fit.weights[k * d + j];
      const double g = problem.features.column_dot(static_cast<linalg::Index>(j), plane) / static_cast<double>(n) +
                       problem.objective.l2 * w;
      inner += g * w;
      largest = std::max(largest, std::abs(g));
    }
    if (problem.objective.intercept == Intercept::kPenalised) {
      double g = problem.objective.l2 * fit.intercepts[k];
      for (const double x : plane) g += x / static_cast<double>(n);
      inner += g * fit.intercepts[k];
      largest = std::max(largest, std::abs(g));
    }
  }
  return inner + *problem.objective.l1_radius * largest;
}

std::string label(Task task) {
  std::string text(name(task));
  std::erase(text, '-');
  return text;
}

class EveryLoss : public testing::TestWithParam<Task> {};

}  // namespace

TEST_P(EveryLoss, ReportsTheGapOfTheModelItReturns) {
  const Data data = noisy_data(GetParam(), 80, 12, 0.5, 1);
  for (const Intercept intercept : {Intercept::kNone, Intercept::kFree, Intercept::kPenalised})
    for (const double l2 : {0.0, 0.1})
      for (const FrankWolfeStep step :
           {FrankWolfeStep::kOpenLoop, FrankWolfeStep::kShort, FrankWolfeStep::kLineSearch}) {
        const Problem problem{data.features, data.labels, objective_of(GetParam(), 1.5, l2, intercept)};
        const auto fit = frank_wolfe(problem, {.iterations = 40, .step = step, .gap_tolerance = 0}, kSilent);
        ASSERT_TRUE(fit) << fit.error().message;
        EXPECT_EQ(fit->certificate, Certificate::kFrankWolfeGap);
        EXPECT_NEAR(fit->gap, gap_of(problem, *fit), 1e-11);
        EXPECT_NEAR(fit->objective,
                    evaluate(problem.objective, data.features, data.labels, fit->weights, fit->intercepts), 1e-13);
        EXPECT_TRUE(feasible(problem.objective, fit->weights, fit->intercepts, 1e-12));
        EXPECT_EQ(fit->intercepts.empty(), intercept == Intercept::kNone);
      }
}

TEST_P(EveryLoss, ConvergesToASmallCertifiedGap) {
  const Data data = noisy_data(GetParam(), 60, 5, 0.7, 2);
  for (const Intercept intercept : {Intercept::kNone, Intercept::kFree, Intercept::kPenalised})
    for (const FrankWolfeStep step : {FrankWolfeStep::kOpenLoop, FrankWolfeStep::kShort, FrankWolfeStep::kLineSearch}) {
      const Problem problem{data.features, data.labels, objective_of(GetParam(), 1.0, 0.05, intercept)};
      const auto fit = frank_wolfe(problem, {.iterations = 20000, .step = step, .gap_tolerance = 1e-3}, kSilent);
      ASSERT_TRUE(fit) << fit.error().message;
      EXPECT_EQ(fit->stop, Stop::kConverged);
      EXPECT_LE(gap_of(problem, *fit), 1e-3 + 1e-12);
    }
}

TEST_P(EveryLoss, ReachesTheOptimumInsideTheBall) {
  // A radius so large that the constraint does not bind; the optimum is interior, where line search converges
  // linearly (Guelat and Marcotte 1986). Its certificate is a vanishing gradient.
  const Data data = noisy_data(GetParam(), 60, 3, 0.9, 3);
  const Problem problem{data.features, data.labels, objective_of(GetParam(), 12.0, 1.0, Intercept::kFree)};
  const auto fit =
      frank_wolfe(problem, {.iterations = 20000, .step = FrankWolfeStep::kLineSearch, .gap_tolerance = 1e-6}, kSilent);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->stop, Stop::kConverged);
  EXPECT_LT(linalg::l1_norm(fit->weights), 11.0);
  EXPECT_LE(gap_of(problem, *fit), 1.01e-6);
}

TEST_P(EveryLoss, LineSearchFindsTheBestPointOfTheSegment) {
  const Data data = noisy_data(GetParam(), 50, 8, 0.6, 4);
  for (const Intercept intercept : {Intercept::kNone, Intercept::kPenalised}) {
    const Problem problem{data.features, data.labels, objective_of(GetParam(), 3.0, 0.01, intercept)};
    FrankWolfeSettings settings{.iterations = 6, .step = FrankWolfeStep::kLineSearch, .gap_tolerance = 0};
    const Fit before = *frank_wolfe(problem, settings, kSilent);
    settings.iterations = 7;
    const Fit after = *frank_wolfe(problem, settings, kSilent);
    // before + gamma * (vertex - before) for gammas around the chosen one: none is better.
    for (const double stretch : {0.0, 0.5, 0.9, 0.99, 1.01, 1.1, 1.5}) {
      Fit other = before;
      for (std::size_t j = 0; j < other.weights.size(); ++j)
        other.weights[j] += stretch * (after.weights[j] - before.weights[j]);
      for (std::size_t k = 0; k < other.intercepts.size(); ++k)
        other.intercepts[k] += stretch * (after.intercepts[k] - before.intercepts[k]);
      EXPECT_GE(evaluate(problem.objective, data.features, data.labels, other.weights, other.intercepts),
                after.objective - 1e-15);
    }
  }
}

TEST_P(EveryLoss, ShortStepAndLineSearchNeverIncreaseTheObjective) {
  const Data data = noisy_data(GetParam(), 100, 20, 0.4, 5);
  for (const FrankWolfeStep step : {FrankWolfeStep::kShort, FrankWolfeStep::kLineSearch})
    for (const Intercept intercept : {Intercept::kNone, Intercept::kFree}) {
      const Problem problem{data.features, data.labels, objective_of(GetParam(), 2.0, 0.0, intercept)};
      const Fit fit = *frank_wolfe(problem, {.iterations = 100, .step = step, .gap_tolerance = 0}, kSilent);
      for (std::size_t t = 1; t < fit.history.size(); ++t) EXPECT_LE(fit.history[t], fit.history[t - 1] + 1e-14);
    }
}

// Open-loop steps go up now and then, and the last point need not be the best.
TEST_P(EveryLoss, OpenLoopStepsThatAreInterruptedEndAtTheBestPointTheyCameBy) {
  const Data data = noisy_data(GetParam(), 60, 8, 0.6, 5);
  int went_back = 0;
  for (const Intercept intercept : {Intercept::kNone, Intercept::kPenalised, Intercept::kFree})
    for (int iterations = 1; iterations < 40; ++iterations) {
      const Problem problem{data.features, data.labels, objective_of(GetParam(), 2, 0.01, intercept)};
      const auto fit = frank_wolfe(problem, {.iterations = 100, .step = FrankWolfeStep::kOpenLoop, .gap_tolerance = 0},
                                   [&](const Progress& progress) { return progress.iteration < iterations; });
      ASSERT_TRUE(fit) << fit.error().message;
      EXPECT_EQ(fit->stop, Stop::kInterrupted);
      ASSERT_EQ(fit->history.size(), static_cast<std::size_t>(iterations));
      EXPECT_EQ(fit->iterations, iterations);
      // The least squares' objective is kept by sums, which round otherwise than the definition does.
      EXPECT_NEAR(fit->objective, *std::min_element(fit->history.begin(), fit->history.end()), 1e-13);
      EXPECT_NEAR(fit->objective,
                  glm::evaluate(problem.objective, data.features, data.labels, fit->weights, fit->intercepts), 1e-13);
      EXPECT_NEAR(fit->gap, gap_of(problem, *fit), 1e-12);
      went_back += fit->history.back() > fit->objective ? 1 : 0;
    }
  EXPECT_GT(went_back, 0);
}

TEST_P(EveryLoss, FreeInterceptIsOptimalForTheWeights) {
  const Data data = noisy_data(GetParam(), 70, 6, 0.5, 6);
  const Problem problem{data.features, data.labels, objective_of(GetParam(), 1.0, 0.0, Intercept::kFree)};
  const Fit fit = *frank_wolfe(problem, {.iterations = 15, .gap_tolerance = 0}, kSilent);
  std::vector<double> margins(data.labels.size() * static_cast<std::size_t>(problem.objective.classes));
  glm::compute_margins(data.features, fit.weights, fit.intercepts, margins);
  glm::loss_derivatives(GetParam(), margins, data.labels, margins);
  for (std::size_t k = 0; k < fit.intercepts.size(); ++k) {
    double slope = 0;
    for (std::size_t i = 0; i < data.labels.size(); ++i) slope += margins[k * data.labels.size() + i];
    EXPECT_NEAR(slope / static_cast<double>(data.labels.size()), 0, 1e-12);
  }
}

TEST_P(EveryLoss, GivesTheSameBitsForOneAndTwoThreads) {
  const Data data = noisy_data(GetParam(), 9000, 10, 0.3, 7);
  const Problem problem{data.features, data.labels, objective_of(GetParam(), 2.0, 0.0, Intercept::kFree)};
  const FrankWolfeSettings settings{.iterations = 12, .step = FrankWolfeStep::kLineSearch, .gap_tolerance = 0};
  set_thread_count(1);
  const Fit one = *frank_wolfe(problem, settings, kSilent);
  set_thread_count(2);
  const Fit two = *frank_wolfe(problem, settings, kSilent);
  set_thread_count(0);
  EXPECT_EQ(one.weights, two.weights);
  EXPECT_EQ(one.history, two.history);
}

TEST_P(EveryLoss, StaysFiniteAtMarginsOfAMillion) {
  Data data = noisy_data(GetParam(), 20, 4, 0.8, 8);
  const Problem problem{data.features, data.labels, objective_of(GetParam(), 1e6)};
  for (const FrankWolfeStep step : {FrankWolfeStep::kOpenLoop, FrankWolfeStep::kShort, FrankWolfeStep::kLineSearch}) {
    const auto fit = frank_wolfe(problem, {.iterations = 20, .step = step, .gap_tolerance = 0}, kSilent);
    ASSERT_TRUE(fit) << fit.error().message;
    EXPECT_TRUE(std::isfinite(fit->objective));
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, EveryLoss,
                         testing::Values(Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax),
                         [](const auto& test) { return label(test.param); });

TEST(FrankWolfe, MeetsTheTwoCurvatureOverTPlusTwoBound) {
  // X = sqrt(n) I: F(w) = 1/2 ||w - z||^2, whose optimum over the ball is the projection of z, and whose
  // curvature constant is the squared diameter (2r)^2 at most.
  const int n = 30;
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  std::vector<double> diagonal(static_cast<std::size_t>(n * n));
  std::vector<double> z;
  std::vector<double> labels;
  for (int i = 0; i < n; ++i) {
    diagonal[static_cast<std::size_t>(i * n + i)] = std::sqrt(static_cast<double>(n));
    z.push_back(normal(random));
    labels.push_back(z.back() * std::sqrt(static_cast<double>(n)));
  }
  const Matrix features = Matrix::from_dense(n, n, diagonal);
  const double radius = 4;
  std::vector<double> optimum = z;
  glm::L1Ball{radius}.project(optimum);
  const glm::Objective objective = objective_of(Task::kLinear, radius);
  const double best = evaluate(objective, features, labels, optimum);
  for (const FrankWolfeMode mode : {FrankWolfeMode::kPlain, FrankWolfeMode::kGram}) {
    double smallest_gap = INFINITY;
    const auto watch = [&](const Progress& progress) {
      EXPECT_GE(progress.gap, progress.objective - best - 1e-12);  // the certificate holds
      EXPECT_LE(progress.objective - best, 2 * 4 * radius * radius / (progress.iteration + 2.0));
      smallest_gap = std::min(smallest_gap, progress.gap);
      // Jaggi 2013, Theorem 2: from t = 2 on, some gap so far is at most 27/4 C / (t + 2).
      EXPECT_TRUE(progress.iteration < 2 || smallest_gap <= 6.75 * 4 * radius * radius / (progress.iteration + 2.0));
      return true;
    };
    const Fit fit =
        *frank_wolfe({features, labels, objective},
                     {.iterations = 2000, .step = FrankWolfeStep::kOpenLoop, .gap_tolerance = 0, .mode = mode}, watch);
    EXPECT_NEAR(fit.objective, best, 0.05);
    EXPECT_GE(fit.objective, best - 1e-12);
  }
}

TEST(FrankWolfe, GramColumnsGiveThePlainIterates) {
  for (const double density : {0.05, 1.0}) {
    const Data data = noisy_data(Task::kLinear, 120, 60, density, 10);
    for (const Intercept intercept : {Intercept::kNone, Intercept::kFree, Intercept::kPenalised})
      for (const double l2 : {0.0, 0.2})
        for (const FrankWolfeStep step :
             {FrankWolfeStep::kOpenLoop, FrankWolfeStep::kShort, FrankWolfeStep::kLineSearch})
          for (const std::size_t cache : {std::size_t{0}, std::size_t{1} << 20}) {
            const Problem problem{data.features, data.labels, objective_of(Task::kLinear, 3.0, l2, intercept)};
            FrankWolfeSettings settings{.iterations = 300, .step = step, .gap_tolerance = 0, .gram_cache_bytes = cache};
            settings.mode = FrankWolfeMode::kPlain;
            const Fit plain = *frank_wolfe(problem, settings, kSilent);
            settings.mode = FrankWolfeMode::kGram;
            const Fit gram = *frank_wolfe(problem, settings, kSilent);
            ASSERT_EQ(plain.history.size(), gram.history.size());
            for (std::size_t t = 0; t < plain.history.size(); ++t)
              EXPECT_NEAR(plain.history[t], gram.history[t], 1e-10 * plain.history[t]) << t;
            for (std::size_t j = 0; j < plain.weights.size(); ++j) EXPECT_NEAR(plain.weights[j], gram.weights[j], 1e-9);
            EXPECT_NEAR(plain.gap, gram.gap, 1e-10);
            ASSERT_EQ(plain.intercepts.size(), gram.intercepts.size());
            for (std::size_t k = 0; k < plain.intercepts.size(); ++k)
              EXPECT_NEAR(plain.intercepts[k], gram.intercepts[k], 1e-9);
          }
  }
}

// Columns enough for several blocks of a selection and a last one that is not full; room for all Gram columns, for one
// or two, and for none.
TEST(FrankWolfe, GramColumnsOfManyPlacesGiveThePlainIterates) {
  for (const double density : {0.02, 0.4}) {
    const Data data = noisy_data(Task::kLinear, 200, 1301, density, 13);
    for (const Intercept intercept : {Intercept::kNone, Intercept::kPenalised})
      for (const std::size_t cache : {std::size_t{0}, std::size_t{22000}, std::size_t{1} << 20}) {
        const Problem problem{data.features, data.labels, objective_of(Task::kLinear, 3.0, 0.1, intercept)};
        FrankWolfeSettings settings{.iterations = 200,
                                    .step = FrankWolfeStep::kLineSearch,
                                    .gap_tolerance = 0,
                                    .mode = FrankWolfeMode::kPlain,
                                    .gram_cache_bytes = cache};
        const Fit plain = *frank_wolfe(problem, settings, kSilent);
        settings.mode = FrankWolfeMode::kGram;
        const Fit gram = *frank_wolfe(problem, settings, kSilent);
        ASSERT_EQ(plain.history.size(), gram.history.size());
        for (std::size_t t = 0; t < plain.history.size(); ++t)
          EXPECT_NEAR(plain.history[t], gram.history[t], 1e-10 * plain.history[t]) << t;
        for (std::size_t j = 0; j < plain.weights.size(); ++j) EXPECT_NEAR(plain.weights[j], gram.weights[j], 1e-9);
      }
  }
}

TEST(FrankWolfe, TakesGramColumnsForLeastSquaresByItself) {
  const Data data = noisy_data(Task::kLinear, 50, 20, 0.5, 11);
  const Problem problem{data.features, data.labels, objective_of(Task::kLinear, 2.0)};
  FrankWolfeSettings settings{.iterations = 50, .gap_tolerance = 0};
  const Fit automatic = *frank_wolfe(problem, settings, kSilent);
  settings.mode = FrankWolfeMode::kGram;
  EXPECT_EQ(frank_wolfe(problem, settings, kSilent)->history, automatic.history);
}

TEST(FrankWolfe, StopsWhenTheObserverAsks) {
  const Data data = noisy_data(Task::kLogistic, 50, 20, 0.5, 12);
  const Problem problem{data.features, data.labels, objective_of(Task::kLogistic, 2.0)};
  std::vector<double> seen;
  const auto watch = [&](const Progress& progress) {
    seen.push_back(progress.objective);
    return progress.iteration < 5;
  };
  const Fit fit = *frank_wolfe(problem, {.iterations = 50, .gap_tolerance = 0}, watch);
  EXPECT_EQ(fit.stop, Stop::kInterrupted);
  EXPECT_EQ(fit.iterations, 5);
  EXPECT_NEAR(seen[0], std::log(2.0), 1e-15);  // it starts at zero
  EXPECT_EQ(fit.history, std::vector<double>(seen.begin() + 1, seen.end()));
}

TEST(FrankWolfe, StopsAtTheIterationLimitWithOneHistoryEntryPerStep) {
  const Data data = noisy_data(Task::kLinear, 50, 20, 0.5, 13);
  const Problem problem{data.features, data.labels, objective_of(Task::kLinear, 2.0)};
  const Fit fit = *frank_wolfe(problem, {.iterations = 7, .gap_tolerance = 0}, kSilent);
  EXPECT_EQ(fit.stop, Stop::kIterations);
  EXPECT_EQ(fit.iterations, 7);
  EXPECT_EQ(fit.history.size(), 7U);
  EXPECT_EQ(fit.history.back(), fit.objective);
}

TEST(FrankWolfe, AddsAtMostOneNonzeroPerStep) {
  const Data data = noisy_data(Task::kLogistic, 50, 40, 0.5, 14);
  const Problem problem{data.features, data.labels, objective_of(Task::kLogistic, 5.0)};
  const Fit fit = *frank_wolfe(problem, {.iterations = 6, .gap_tolerance = 0}, kSilent);
  EXPECT_LE(40 - std::count(fit.weights.begin(), fit.weights.end(), 0.0), 6);
}

TEST(FrankWolfe, GoesWhereThePluggedInChoiceSays) {
  struct AlwaysTheSecond final : VertexChoice {
    glm::Vertex choose(std::span<const double> gradient) override {
      EXPECT_EQ(gradient.size(), 6U);
      return {1, gradient[1] > 0 ? -2.0 : 2.0};
    }
  };
  for (const Task task : {Task::kLinear, Task::kLogistic}) {
    const Data data = noisy_data(task, 50, 6, 0.5, 15);
    const Problem problem{data.features, data.labels, objective_of(task, 2.0)};
    AlwaysTheSecond choice;
    const Fit fit = *frank_wolfe(problem, {.iterations = 9, .gap_tolerance = 0}, kSilent, choice);
    for (std::size_t j = 0; j < 6; ++j) EXPECT_EQ(fit.weights[j] != 0, j == 1);
    EXPECT_NEAR(fit.gap, gap_of(problem, fit), 1e-12);  // still the steepest vertex's
  }
}

TEST(FrankWolfe, RefusesWhatItCannotSolve) {
  const Data data = noisy_data(Task::kLogistic, 10, 3, 0.9, 16);
  const auto message = [&](const glm::Objective& objective, const FrankWolfeSettings& settings = {}) {
    const auto fit = frank_wolfe({data.features, data.labels, objective}, settings, kSilent);
    EXPECT_FALSE(fit);
    if (fit) return std::string("accepted");
    EXPECT_EQ(fit.error().fault, Fault::kBadInput);
    return fit.error().message;
  };
  glm::Objective objective = objective_of(Task::kLogistic, 1.0);
  objective.l1_radius.reset();
  EXPECT_EQ(message(objective), "model.l1_radius: frank-wolfe needs the radius of the l1 ball");
  objective = objective_of(Task::kLogistic, 1.0);
  objective.l1 = 0.5;
  EXPECT_EQ(message(objective),
            "model.l1: frank-wolfe takes the constraint l1_radius instead of an l1 penalty (got '0.5')");
  objective = objective_of(Task::kLogistic, 1.0);
  objective.sparsity = 3;
  EXPECT_EQ(message(objective), "model.sparsity: frank-wolfe takes the constraint l1_radius instead (got '3')");
  objective = objective_of(Task::kLogistic, 1.0);
  EXPECT_EQ(message(objective, {.iterations = 0}), "algorithm.iterations: must be at least 1 (got '0')");
  EXPECT_EQ(message(objective, {.gap_tolerance = NAN}), "algorithm.gap_tolerance: must be a number >= 0 (got 'nan')");
  EXPECT_EQ(message(objective, {.mode = FrankWolfeMode::kGram}),
            "algorithm.mode: Gram columns serve least squares only (got 'logistic')");
  objective.l1_radius = INFINITY;
  EXPECT_NE(message(objective).find("l1_radius"), std::string::npos);
}

TEST(FrankWolfe, RefusesAFreeInterceptWithoutAnOptimum) {
  const Data data = noisy_data(Task::kLogistic, 10, 3, 0.9, 17);
  const std::vector<double> ones(10, 1.0);
  const auto fit =
      frank_wolfe({data.features, ones, objective_of(Task::kLogistic, 1.0, 0, Intercept::kFree)}, {}, kSilent);
  ASSERT_FALSE(fit);
  EXPECT_EQ(fit.error().message,
            "labels: no row has label -1: a free intercept needs rows of every class; drop the class, or use a "
            "penalised intercept or none");
  EXPECT_TRUE(
      frank_wolfe({data.features, ones, objective_of(Task::kSquaredHinge, 1.0, 0, Intercept::kFree)}, {}, kSilent));
}

TEST(FrankWolfe, RefusesFeaturesThatAreNotFinite) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()})
    for (const Task task : {Task::kLinear, Task::kLogistic}) {
      const Matrix features = Matrix::from_dense(2, 2, std::vector<double>{1, 2, bad, 1});
      const auto fit = frank_wolfe({features, std::vector<double>{1, -1}, objective_of(task, 1.0)}, {}, kSilent);
      ASSERT_FALSE(fit);
      EXPECT_EQ(fit.error().fault, Fault::kBadInput);
    }
}

TEST(FrankWolfe, RefusesAGradientThatOverflows) {
  const Matrix features = Matrix::from_dense(2, 2, std::vector<double>{1, 2, 1e308, 1e308});
  for (const FrankWolfeMode mode : {FrankWolfeMode::kPlain, FrankWolfeMode::kGram}) {
    const auto fit = frank_wolfe({features, std::vector<double>{1e3, 1e3}, objective_of(Task::kLinear, 1.0)},
                                 {.mode = mode}, kSilent);
    ASSERT_FALSE(fit);
    EXPECT_EQ(fit.error().fault, Fault::kBadInput);
  }
}

TEST(FrankWolfe, ScanFindsTheFirstLargestEntryForEverySize) {
  std::mt19937_64 random(18);
  std::normal_distribution<double> normal;
  for (const std::size_t size : {1U, 2U, 31U, 32U, 33U, 1000U, 1024U, 1025U, 5000U}) {
    std::vector<double> x(size);
    std::vector<double> c(size);
    for (std::size_t i = 0; i < size; ++i) {
      x[i] = std::round(3 * normal(random));  // ties
      c[i] = std::round(2 * normal(random));
    }
    Largest expected{0, -1};
    for (std::size_t i = 0; i < size; ++i)
      if (std::abs(0.5 * x[i] - c[i]) > expected.size) expected = {i, std::abs(0.5 * x[i] - c[i])};
    const Largest found = largest_difference(0.5, x, c);
    EXPECT_EQ(found.index, expected.index);
    EXPECT_EQ(found.size, expected.size);
  }
}

TEST(FrankWolfe, KeepsItsScaleWhenFullStepsRepeat) {
  // One column: line search jumps to a vertex and stays; then shrinking steps of every size.
  const Matrix features = Matrix::from_dense(3, 1, std::vector<double>{1, 2, 3});
  const std::vector<double> labels = {10, 20, 30};
  for (const FrankWolfeMode mode : {FrankWolfeMode::kPlain, FrankWolfeMode::kGram}) {
    const Fit fit = *frank_wolfe(
        {features, labels, objective_of(Task::kLinear, 4.0)},
        {.iterations = 50, .step = FrankWolfeStep::kLineSearch, .gap_tolerance = 1e-10, .mode = mode}, kSilent);
    EXPECT_EQ(fit.weights, std::vector<double>{4.0});
    EXPECT_EQ(fit.stop, Stop::kConverged);
  }
}
