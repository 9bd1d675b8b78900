#include "parley/algorithms/parts/smoothness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "parley/algorithms/coordinate/greedy_cd.h"
#include "parley/algorithms/coordinate/greedy_cd_noise.h"
#include "tests/algorithms/sparse_data.h"
#include "tests/algorithms/test_site.h"

using namespace parley;
using namespace parley::algorithms;

namespace {

constexpr double kRowBound = 3;  // of at most 9 columns in [-1, 1]

TestSite::Limits limits_of(double epsilon, std::uint64_t seed = 1) {
  return {.epsilon = epsilon, .seed = seed, .smoothness = privacy::Smoothness::kPrivate, .row_bound = kRowBound};
}

// One release against a reservation of its own.
std::vector<double> released(const Problem& problem) {
  const auto release = plan_smoothness(*problem.privacy);
  EXPECT_TRUE(release) << release.error().message;
  EXPECT_TRUE(problem.privacy->gate->reserve({.once = {(*release)->event}, .step = {}, .steps = 1},
                                             problem.privacy->target.delta));
  return private_smoothness(problem, *release).value();
}

std::vector<double> of_data(const Problem& problem) {
  std::vector<double> of = problem.features.column_squared_norms();
  for (double& m : of) m *= coordinate_curvature(problem.objective.task) / static_cast<double>(problem.labels.size());
  return of;
}

}  // namespace

TEST(PrivateSmoothness, IsThatOfTheDataWhenEpsilonIsHuge) {
  const Data data = sparse_data(Task::kLogistic, 2000, 9, 0.5, 1);
  const TestSite site(data.features, limits_of(1e6));
  const Problem problem = site.problem(data.labels, objective_of(Task::kLogistic, 0, 0.01, Intercept::kPenalised));
  const std::vector<double> told = released(problem), exact = of_data(problem);
  ASSERT_EQ(told.size(), 10u);
  const double floor = (*plan_smoothness(*problem.privacy))->floor;  // what is added, and more than any noise here
  EXPECT_LT(floor, 1e-4);
  for (std::size_t j = 0; j < 9; ++j) {
    EXPECT_GE(told[j], exact[j]);
    EXPECT_LE(told[j], exact[j] + 0.25 * 2 * floor);
  }
  EXPECT_EQ(told[9], 0.25) << "an intercept's is known";
}

TEST(PrivateSmoothness, IsSeldomBelowThatOfTheDataAndNeverAboveThatOfTheBounds) {
  // At most one run in a hundred may have a column below. Of 60 runs more than 5 have one with a probability
  // below 1e-4.
  const Data data = sparse_data(Task::kLogistic, 3000, 9, 0.9, 2);
  int below = 0;
  double mean = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const TestSite site(data.features, limits_of(2, seed));
    const Problem problem = site.problem(data.labels, objective_of(Task::kLogistic, 0, 0.01));
    const std::vector<double> told = released(problem), exact = of_data(problem);
    bool any = false;
    for (std::size_t j = 0; j < told.size(); ++j) {
      any = any || told[j] < exact[j];
      EXPECT_LE(told[j], 0.25);
      mean += told[j] / static_cast<double>(60 * told.size());
    }
    below += any ? 1 : 0;
  }
  EXPECT_LE(below, 5);
  EXPECT_LT(mean, 0.2) << "and it says more than the bounds do";
}

TEST(PrivateSmoothness, HasAPublicFloorThatNoNoiseGoesBelow) {
  // Columns of zeros: about half of all released squares are negative.
  const Data data{Matrix::from_dense(3000, 9, std::vector<double>(27000)), std::vector<double>(3000, 1.0)};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const TestSite site(data.features, limits_of(2, seed));
    const Problem problem = site.problem(data.labels, objective_of(Task::kLogistic, 0, 0.01));
    const double floor = 0.25 * (*plan_smoothness(*problem.privacy))->floor;
    for (const double m : released(problem)) EXPECT_GE(m, floor);
    const auto& transcript = site.gate().transcript();
    EXPECT_LT(*std::min_element(transcript.begin(), transcript.end()), 0);
  }
}

TEST(PrivateSmoothness, IsAtLeastAQuarterOfTheLargestShare) {
  std::vector<double> values(3 * 4000);
  for (int i = 0; i < 4000; ++i) values[static_cast<std::size_t>(i)] = 1;  // one full column, one rare, one empty
  values[4000] = 1;
  const Data data{Matrix::from_dense(4000, 3, values), std::vector<double>(4000, 1.0)};
  const TestSite site(data.features, limits_of(1e6));
  const std::vector<double> told = released(site.problem(data.labels, objective_of(Task::kLogistic, 0, 0.01)));
  EXPECT_NEAR(told[0], 0.25, 1e-4);
  EXPECT_NEAR(told[1], 0.0625, 1e-4);
  EXPECT_NEAR(told[2], 0.0625, 1e-4);
}

TEST(PrivateSmoothness, IsRefusedWhereItWouldBeNoiseAlone) {
  const Data data = sparse_data(Task::kLogistic, 100, 9, 0.5, 3);
  const TestSite site(data.features, limits_of(0.1));
  const Problem problem = site.problem(data.labels, objective_of(Task::kLogistic, 0, 0.01));
  const auto fit = greedy_cd(problem, {.iterations = 3}, {});
  ASSERT_FALSE(fit);
  EXPECT_NE(fit.error().message.find("a private estimate would say nothing"), std::string::npos) << fit.error().message;
  EXPECT_EQ(site.gate().releases(), 0);
  EXPECT_TRUE(site.gate().receipts().empty()) << "nothing is charged";
}

TEST(PrivateSmoothness, IsRefusedWithThePapersNoise) {
  const Data data = sparse_data(Task::kLogistic, 4000, 9, 0.5, 3);
  TestSite::Limits limits = limits_of(2);
  limits.calibration = privacy::Calibration::kPaper;
  limits.budget = 100;
  const TestSite site(data.features, limits);
  const auto fit = greedy_cd(site.problem(data.labels, objective_of(Task::kLogistic, 0, 0.01)), {.iterations = 3}, {});
  ASSERT_FALSE(fit);
  EXPECT_NE(fit.error().message.find("smoothness"), std::string::npos);
}

TEST(PrivateSmoothness, IsPartOfTheClaimAndLeavesTheStepsLess) {
  const Data data = sparse_data(Task::kLogistic, 4000, 9, 0.5, 4);
  const glm::Objective objective = objective_of(Task::kLogistic, 0, 0.01);
  const TestSite with(data.features, limits_of(1));
  ASSERT_TRUE(greedy_cd(with.problem(data.labels, objective), {.iterations = 20}, {}));
  const TestSite without(data.features, {.row_bound = kRowBound});
  ASSERT_TRUE(greedy_cd(without.problem(data.labels, objective), {.iterations = 20}, {}));
  EXPECT_LE(with.gate().receipts().front().epsilon, 1.0);
  EXPECT_GT(with.gate().receipts().front().epsilon, 0.98);
  ASSERT_EQ(with.gate().charged().events.size(), 3u);
  ASSERT_EQ(without.gate().charged().events.size(), 2u);
  EXPECT_EQ(with.gate().releases(), 41);
  const privacy::Plan rest{with.gate().charged().neighbours,
                           {with.gate().charged().events.begin() + 1, with.gate().charged().events.end()}};
  const double left = *privacy::epsilon_at(rest, *privacy::Delta::make(1e-6));
  EXPECT_LT(left, 0.97) << "the steps alone are cheaper than the target: the release was paid from it";
  EXPECT_GT(left, 0.85);
}

TEST(PrivateSmoothness, OneRecordMovesTheReleaseByNoMoreThanItsPrice) {
  // Neighbours that differ in one record, with next to no noise: what the release moves by, in sensitivities
  // of the event that pays for it.
  const Data data = sparse_data(Task::kLogistic, 50, 9, 0.5, 5);
  double largest = 0;
  std::vector<std::vector<double>> told;
  for (const int kind : {0, 1, 2, 3}) {
    std::vector<double> values;
    for (int j = 0; j < 9; ++j)
      for (int i = 0; i < 50; ++i)
        values.push_back(i > 0       ? data.features.at(i, j)
                         : kind == 0 ? (j < 4 ? 1.0 : 0.0)
                         : kind == 1 ? (j < 4 ? 0.0 : -1e9)
                         : kind == 2 ? 0.0
                                     : 1.0);
    const Matrix features = Matrix::from_dense(50, 9, values);
    const TestSite site(features,
                        {.epsilon = 1e8, .delta = 1e-3, .smoothness = privacy::Smoothness::kPrivate, .row_bound = 2});
    (void)released(site.problem(data.labels, objective_of(Task::kLogistic, 0, 0.01)));
    told.push_back(site.gate().transcript());
    const auto& paid = std::get<privacy::Gaussian>(site.gate().charged().events.front().mechanism);
    for (const auto& other : told) {
      double squares = 0;
      for (std::size_t j = 0; j < 9; ++j) squares += std::pow(told.back()[j] - other[j], 2);
      largest = std::max(largest, std::ldexp(std::sqrt(squares), 28) / paid.sensitivity);
    }
  }
  EXPECT_LE(largest, 1.01);
  EXPECT_GT(largest, 0.99) << "two records without a column in common reach the bound";
}
