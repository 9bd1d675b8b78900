#include "parley/algorithms/parts/recorder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/algorithms/noisy_data.h"

namespace parley::algorithms {

namespace {

TEST(Recorder, CountsKeepsAndShowsEveryStep) {
  std::vector<Progress> seen;
  const Observer observer = [&](const Progress& at) {
    seen.push_back(at);
    return true;
  };
  Fit fit;
  Recorder record(fit, observer, {.certificate = Certificate::kGradientNorm, .expected = 2});
  EXPECT_TRUE(record.step(3));
  EXPECT_TRUE(record.step(2));
  EXPECT_EQ(fit.history, (std::vector<double>{3, 2}));
  EXPECT_EQ(fit.iterations, 2);
  EXPECT_EQ(fit.stop, Stop::kIterations);
  EXPECT_EQ(fit.certificate, Certificate::kGradientNorm);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[1].iteration, 2);
  EXPECT_EQ(seen[1].objective, 2);
  EXPECT_TRUE(std::isnan(seen[1].gap));  // none was found so far
  EXPECT_EQ(seen[1].expected, 2);
}

TEST(Recorder, EndsWhenItsObserverAsks) {
  const Observer observer = [](const Progress& at) { return at.iteration < 2; };
  Fit fit;
  Recorder record(fit, observer, {.otherwise = Stop::kBudgetEnded});
  EXPECT_TRUE(record.step(1));
  EXPECT_EQ(fit.stop, Stop::kBudgetEnded);
  EXPECT_FALSE(record.step(1));
  EXPECT_TRUE(record.ended());
  EXPECT_EQ(fit.stop, Stop::kInterrupted);
}

TEST(Recorder, KeepsTheFirstReasonAndStillShowsThePoint) {
  int shown = 0;
  const Observer observer = [&](const Progress&) { return ++shown < 0; };
  Fit fit;
  Recorder record(fit, observer, {});
  record.end(Stop::kConverged);
  EXPECT_FALSE(record.show(1, 0));
  record.end(Stop::kStalled);
  EXPECT_EQ(fit.stop, Stop::kConverged);
  EXPECT_EQ(shown, 1);
}

TEST(Recorder, GoesOnWhereNobodyWatches) {
  Fit fit;
  const Observer nobody;
  Recorder record(fit, nobody, {});
  EXPECT_TRUE(record.step(1));
  EXPECT_FALSE(record.ended());
}

TEST(Recorder, SaysThatTheBudgetEndedARunThatItMadeShorter) {
  EXPECT_EQ(when_done(3, 4), Stop::kBudgetEnded);
  EXPECT_EQ(when_done(4, 4), Stop::kIterations);
}

TEST(Recorder, FinishesWithTheModelsOwnObjective) {
  const test::Data data = test::noisy_data(glm::Task::kSoftmax, 20, 2, 0.9, 1);
  const Problem problem{data.features, data.labels,
                        test::objective_of(glm::Task::kSoftmax, 0, 0.1, glm::Intercept::kPenalised)};
  Fit fit;
  const Observer nobody;
  Recorder record(fit, nobody, {});
  record.step(7);
  record.step(7);
  record.finish(problem, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(fit.weights, (std::vector<double>{1, 2, 4, 5, 7, 8}));
  EXPECT_EQ(fit.intercepts, (std::vector<double>{3, 6, 9}));
  EXPECT_EQ(fit.objective, evaluate(problem.objective, problem.features, problem.labels, fit.weights, fit.intercepts));
  EXPECT_EQ(fit.history, (std::vector<double>{7, fit.objective}));
}

TEST(Fit, SplitsCoordinatesWithoutInterceptsAsTheyAre) {
  const test::Data data = test::noisy_data(glm::Task::kLinear, 5, 3, 0.9, 1);
  const Problem problem{data.features, data.labels, test::objective_of(glm::Task::kLinear, 0, 0)};
  Fit fit;
  fit.intercepts = {1};
  split(problem, std::vector<double>{1, 2, 3}, fit);
  EXPECT_EQ(fit.weights, (std::vector<double>{1, 2, 3}));
  EXPECT_TRUE(fit.intercepts.empty());
}

}  // namespace

}  // namespace parley::algorithms
