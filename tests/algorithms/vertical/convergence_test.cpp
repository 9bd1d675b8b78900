// The curvature bounds and the judge of a run against what they are about, by brute force.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "parley/algorithms/vertical/bcfw.h"
#include "parley/algorithms/vertical/block_curvature.h"
#include "parley/algorithms/vertical/convergence_judge.h"
#include "parley/data/random.h"
#include "tests/algorithms/federation.h"

using namespace parley;
using namespace parley::algorithms;
using linalg::Index;
using linalg::Matrix;
using Blocks = BcfwSettings::Blocks;

namespace {

constexpr Index kRecords = 15;
constexpr std::size_t kColumns = 6;

std::vector<ColumnShare> shares(std::uint64_t seed, bool classes) {
  data::Random random(seed, 3, 3);
  std::vector<ColumnShare> made;
  std::vector<double> labels;
  for (Index i = 0; i < kRecords; ++i) labels.push_back(classes ? (random.uniform() < 0.5 ? -1 : 1) : random.normal());
  for (int k = 0; k < 2; ++k) {
    std::vector<double> values;
    for (Index at = 0; at < kRecords * static_cast<Index>(kColumns / 2); ++at)
      values.push_back(random.uniform() < 0.3 ? 0.0 : random.normal() + 0.5);
    made.push_back({Matrix::from_dense(kRecords, kColumns / 2, values), k == 0 ? labels : std::vector<double>{}});
  }
  return made;
}

std::vector<PartyFacts> facts() {
  return {{.party = 0, .records = kRecords, .columns = kColumns / 2, .labels = true},
          {.party = 1, .records = kRecords, .columns = kColumns / 2}};
}

// sup over moves of E |sum over b in T of A_b delta_b|^2 / n: convex in each delta_b, so at a corner of its set.
double brute_force(const std::vector<ColumnShare>& data, const BlockLayout& layout,
                   const std::vector<std::vector<std::size_t>>& units, const std::vector<double>& pairs) {
  using Move = std::vector<double>;  // of all columns
  std::vector<std::vector<Move>> corners;
  for (const auto& unit : units) {
    std::vector<Move>& moves = corners.emplace_back();
    if (layout.box()) {
      for (const double sign : {-1.0, 1.0}) {
        Move move(kColumns);
        move[unit.front()] = sign * 2 * layout.radius_of(unit.front());
        moves.push_back(move);
      }
      continue;
    }
    for (const std::size_t i : unit)
      for (const std::size_t j : unit)
        for (const double one : {-1.0, 1.0})
          for (const double other : {-1.0, 1.0}) {
            Move move(kColumns);
            move[i] += one * layout.radius_of(i);
            move[j] += other * layout.radius_of(j);
            moves.push_back(move);
          }
  }
  const auto moved = [&](const Move& move) {
    std::vector<double> margins(static_cast<std::size_t>(kRecords));
    for (std::size_t j = 0; j < kColumns; ++j)
      data[j / 3].features.column_axpy(static_cast<Index>(j % 3), move[j], margins);
    return margins;
  };
  std::vector<std::vector<double>> chosen(units.size());
  double largest = 0;
  const std::function<void(std::size_t)> choose = [&](std::size_t b) {
    if (b == units.size()) {
      double sum = 0;
      for (std::size_t c = 0; c < units.size(); ++c)
        for (std::size_t d = 0; d < units.size(); ++d) {
          double inner = 0;
          for (std::size_t i = 0; i < chosen[c].size(); ++i) inner += chosen[c][i] * chosen[d][i];
          sum += pairs[c * units.size() + d] * inner;
        }
      largest = std::max(largest, sum / kRecords);
      return;
    }
    for (const Move& move : corners[b]) {
      chosen[b] = moved(move);
      choose(b + 1);
    }
  };
  choose(0);
  return largest;
}

struct Judged {
  Convergence convergence;
  Bcfw::Iterate last;
};

Judged judged(const RunTerms& terms, const BcfwSettings& settings, const std::vector<ColumnShare>& data) {
  auto algorithm = Bcfw::make(terms, settings);
  EXPECT_TRUE(algorithm) << algorithm.error().message;
  auto begun = algorithm->begin(facts());
  EXPECT_TRUE(begun) << begun.error().message;
  ConvergenceJudge judge(*algorithm, data);
  auto last = tests::federate(*algorithm, *begun, data, [&](const Bcfw::Iterate& iterate) { judge.see(iterate); });
  EXPECT_TRUE(last);
  return {judge.result(), *last};
}

RunTerms ball(glm::Task task, double radius) {
  return {.objective = {.task = task, .l1_radius = radius}, .seed = 4, .parties = 2};
}

}  // namespace

TEST(BlockCurvature, EveryBoundIsAboveTheSupremum) {
  const std::vector<SamplingSettings> samplings = {
      {.kind = Sampling::kAll},
      {.kind = Sampling::kUniformSerial},
      {.kind = Sampling::kTauNice, .tau = {2}},
      {.kind = Sampling::kDistributed, .tau = {2}},
      {.kind = Sampling::kStratified, .tau = {1, 2}},
      {.kind = Sampling::kImportance, .probabilities = {.1, .1, .2, .2, .2, .2}},
      {.kind = Sampling::kCustom, .probabilities = {.4, .6}, .sets = {{1, 2, 3}, {3, 4, 5, 6}}}};
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto data = shares(seed, false);
    for (const SamplingSettings& settings : samplings) {
      const BcfwSettings box{.blocks = Blocks::kCoordinates, .radii = {.3, .5, 1, .2, .7, .4}};
      const auto layout =
          BlockLayout::make({.task = glm::Task::kLinear, .box = 1}, box, std::vector<std::size_t>{3, 3});
      const auto sampling = BlockSampling::make(settings, layout->blocks(), 1);
      ASSERT_TRUE(layout && sampling);
      Convergence found;
      bound_curvature({data, *layout, *sampling, 1}, found);
      const double exact = brute_force(data, *layout, {{0}, {1}, {2}, {3}, {4}, {5}}, sampling->pairs());
      ASSERT_FALSE(found.curvatures.empty());
      for (const auto& [name, bound] : found.curvatures) EXPECT_GE(bound, exact * (1 - 1e-12)) << name;
      EXPECT_LE(found.curvature, 8 * exact) << "of some use";
    }
    for (const SamplingSettings& settings :
         {SamplingSettings{.kind = Sampling::kAll}, SamplingSettings{.kind = Sampling::kUniformSerial}}) {
      const auto layout = BlockLayout::make({.task = glm::Task::kLinear, .l1_radius = 2}, {.radii = {.5, 1.5}},
                                            std::vector<std::size_t>{3, 3});
      const auto sampling = BlockSampling::make(settings, layout->blocks(), 1);
      Convergence found;
      bound_curvature({data, *layout, *sampling, 1}, found);
      const double exact = brute_force(data, *layout, {{0, 1, 2}, {3, 4, 5}}, sampling->pairs());
      for (const auto& [name, bound] : found.curvatures) EXPECT_GE(bound, exact * (1 - 1e-12)) << name;
      EXPECT_LE(found.curvature, 4 * exact);
    }
  }
}

TEST(ConvergenceJudge, HoldsARunToItsBoundAndFindsExactStepsExact) {
  for (const glm::Task task : {glm::Task::kLinear, glm::Task::kLogistic, glm::Task::kSquaredHinge}) {
    const auto data = shares(7, task != glm::Task::kLinear);
    for (const auto form : {BcfwSettings::Ball::kPerParty, BcfwSettings::Ball::kGlobal}) {
      const Judged run = judged(ball(task, 2), {.iterations = 60, .ball = form}, data);
      const Convergence& found = run.convergence;
      ASSERT_EQ(found.gap.size(), 61u);
      ASSERT_EQ(found.bound.size(), 61u);
      EXPECT_LE(*found.rho_g, 1e-12);
      EXPECT_LE(*found.rho_l, 1e-12);
      for (std::size_t t = 1; t <= 60; ++t) EXPECT_LE(found.gap[t], found.bound[t]) << glm::name(task) << t;
      if (task != glm::Task::kLinear) {
        const double at_zero = task == glm::Task::kLogistic ? std::log(2.0) : 1.0;
        EXPECT_NEAR(found.gap.front() - found.gap.back(), at_zero - run.last.objective, 1e-12);
      }
      EXPECT_GE(found.gap.back(), 0);
    }
  }
}

TEST(ConvergenceJudge, MeasuresHowFarSketchedGradientsAreFromTrueOnes) {
  const auto data = shares(5, true);
  const Judged run = judged(ball(glm::Task::kLogistic, 2), {.iterations = 2, .sketch = 4}, data);
  const Convergence& found = run.convergence;
  // The first step is from 0, where a sketch sees the same gradient; the second is off.
  EXPECT_GT(*found.rho_g, 1e-3);
  EXPECT_LE(*found.rho_l, 1e-12) << "columns are ranked by the gradients that are seen, and the first is taken";
  EXPECT_NEAR(*found.rho, (2 * 2 + 2) * *found.rho_g + 2 * *found.rho_l, 1e-12);
  const Judged one = judged(ball(glm::Task::kLogistic, 2), {.iterations = 1, .sketch = 4}, data);
  EXPECT_LE(*one.convergence.rho_g, 1e-12);
}

TEST(ConvergenceJudge, SaysThatNoTheoremCoversAPartOfABall) {
  const Judged run =
      judged(ball(glm::Task::kLogistic, 2),
             {.iterations = 5, .sampling = {.kind = Sampling::kTauNice, .tau = {2}}, .blocks = Blocks::kCoordinates},
             shares(5, true));
  EXPECT_TRUE(run.convergence.bound.empty());
  EXPECT_FALSE(run.convergence.rho);
  EXPECT_EQ(run.convergence.gap.size(), 6u);
}
