// `exact` over a box and over products of balls, against its certificate and against a method that shares nothing with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "parley/algorithms/exact/exact.h"
#include "parley/data/random.h"
#include "parley/glm/loss.h"

using namespace parley;
using namespace parley::algorithms;
using linalg::Index;

namespace {

constexpr std::size_t kColumns = 9;

struct Small {
  std::size_t records = 0;
  std::vector<double> values, labels;  // column by column

  [[nodiscard]] linalg::Matrix features() const {
    return linalg::Matrix::from_dense(static_cast<Index>(records), kColumns, values);
  }
};

Small small(std::size_t records, glm::Task task, std::uint64_t seed) {
  data::Random random(seed, 9, 1);
  Small made{records, {}, {}};
  for (std::size_t at = 0; at < records * kColumns; ++at)
    made.values.push_back(random.uniform() < 0.2 ? 0.0 : random.normal());
  for (std::size_t i = 0; i < records; ++i) {
    const double margin = made.values[i] - 2 * made.values[4 * records + i] + random.normal();
    made.labels.push_back(task == glm::Task::kLinear ? margin : margin > 0 ? 1 : -1);
  }
  return made;
}

struct Point {
  double value = 0;
  std::vector<double> gradient;
};

// The objective, sum by sum; the last of w is the constant where there is one more than columns.
Point at(const Small& data, const glm::Objective& objective, const std::vector<double>& w) {
  Point point{0, std::vector<double>(w.size())};
  const auto n = static_cast<double>(data.records);
  for (std::size_t i = 0; i < data.records; ++i) {
    const auto entry = [&](std::size_t j) { return j < kColumns ? data.values[j * data.records + i] : 1.0; };
    double margin = 0;
    for (std::size_t j = 0; j < w.size(); ++j) margin += w[j] * entry(j);
    glm::with_loss(objective.task, [&](auto loss) {
      point.value += loss.value(margin, data.labels[i]) / n;
      for (std::size_t j = 0; j < w.size(); ++j)
        point.gradient[j] += loss.derivative(margin, data.labels[i]) * entry(j) / n;
    });
  }
  for (std::size_t j = 0; j < w.size(); ++j) {
    point.value += objective.l2 / 2 * w[j] * w[j];
    point.gradient[j] += objective.l2 * w[j];
  }
  return point;
}

// max over the set of <g, w - s>, and whether w lies in it.
double gap_of(const glm::Objective& objective, const std::vector<double>& w, const std::vector<double>& g) {
  double gap = 0;
  if (objective.box) {
    for (std::size_t j = 0; j < w.size(); ++j) {
      EXPECT_LE(std::abs(w[j]), *objective.box);
      gap += w[j] * g[j] + *objective.box * std::abs(g[j]);
    }
    return gap;
  }
  const double radius = *objective.l1_radius / static_cast<double>(objective.l1_groups.size());
  std::size_t from = 0;
  for (std::size_t b = 0; b < objective.l1_groups.size(); ++b) {
    const bool last = b + 1 == objective.l1_groups.size();
    const std::size_t to = last ? w.size() : from + static_cast<std::size_t>(objective.l1_groups[b]);
    double norm = 0, largest = 0;
    for (std::size_t j = from; j < to; ++j) {
      gap += w[j] * g[j];
      norm += std::abs(w[j]);
      largest = std::max(largest, std::abs(g[j]));
    }
    EXPECT_LE(norm, radius * (1 + 1e-12));
    gap += radius * largest;
    from = to;
  }
  return gap;
}

}  // namespace

TEST(ExactSets, ReachesTheOptimumOfABoxAndOfProductsOfBallsWithACertificate) {
  std::vector<glm::Objective> sets;
  for (const double size : {0.05, 0.3, 2.0, 50.0}) {
    sets.push_back({.box = size});
    sets.push_back({.l2 = 0.1, .box = size});
    sets.push_back({.l1_radius = size, .l1_groups = {2, 3, 4}});
    sets.push_back({.l2 = 0.1, .l1_radius = size, .l1_groups = {5, 4}});
  }
  for (const glm::Task task : {glm::Task::kLinear, glm::Task::kLogistic, glm::Task::kSquaredHinge})
    for (const std::size_t records : {5u, 60u})  // fewer records than columns: the Hessian is singular
      for (glm::Objective objective : sets)
        for (const auto intercept : {glm::Intercept::kNone, glm::Intercept::kPenalised}) {
          objective.task = task;
          objective.intercept = intercept;
          const Small data = small(records, task, records);
          const auto fit = exact({data.features(), data.labels, objective}, {}, {});
          ASSERT_TRUE(fit) << fit.error().message;
          std::vector<double> w = fit->weights;
          w.insert(w.end(), fit->intercepts.begin(), fit->intercepts.end());
          ASSERT_EQ(w.size(), kColumns + (intercept == glm::Intercept::kPenalised ? 1u : 0u));
          const Point there = at(data, objective, w);
          EXPECT_NEAR(there.value, fit->objective, 1e-12 * std::max(1.0, there.value));
          const std::string where = std::string(glm::name(task)) + (objective.box ? ", box" : ", balls") + ", l2 " +
                                    std::to_string(objective.l2) + ", n " + std::to_string(records);
          EXPECT_EQ(fit->stop, Stop::kConverged) << where << ", gap " << fit->gap;
          EXPECT_LE(gap_of(objective, w, there.gradient), 1e-10 * std::max(1.0, there.value) + 1e-14) << where;
        }
}

TEST(ExactSets, AgreesWithOneBallWhereTheGroupIsAllColumns) {
  const Small data = small(40, glm::Task::kLogistic, 3);
  const auto one = exact({data.features(), data.labels, {.l1_radius = 1.5}}, {}, {});
  const auto group = exact({data.features(), data.labels, {.l1_radius = 1.5, .l1_groups = {9}}}, {}, {});
  ASSERT_TRUE(one && group);
  EXPECT_NEAR(one->objective, group->objective, 2e-10);
}

TEST(ExactSets, RefusesWhatItCannotSolve) {
  const Small data = small(20, glm::Task::kLogistic, 2);
  const auto said = [&](const glm::Objective& objective) {
    const auto fit = exact({data.features(), data.labels, objective}, {}, {});
    return fit ? std::string("solved") : fit.error().message;
  };
  EXPECT_NE(said({.l1_radius = 1, .l1_groups = {4, 4}}).find("as many columns as the table, 9"), std::string::npos);
  EXPECT_NE(said({.box = 1, .intercept = glm::Intercept::kFree}).find("every weight must be in the box"),
            std::string::npos);
  EXPECT_NE(said({.l1 = 1, .box = 1}).find("no l1 penalty"), std::string::npos);
}
