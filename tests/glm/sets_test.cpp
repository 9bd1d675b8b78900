#include "parley/glm/sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "parley/linalg/vectors.h"

using namespace parley::glm;

namespace {

std::vector<double> random_vector(std::size_t size, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> v(size);
  for (double& x : v) x = normal(random);
  return v;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

// Projection onto the l1 ball by sorting everything and trying every prefix.
std::vector<double> project_by_sorting(std::vector<double> w, double radius) {
  if (parley::linalg::l1_norm(w) <= radius) return w;
  if (radius == 0) return std::vector<double>(w.size());
  std::vector<double> sizes;
  for (const double x : w) sizes.push_back(std::abs(x));
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  double sum = 0;
  double theta = 0;
  for (std::size_t m = 0; m < sizes.size(); ++m) {
    sum += sizes[m];
    const double candidate = (sum - radius) / static_cast<double>(m + 1);
    if (candidate < sizes[m]) theta = candidate;
  }
  for (double& x : w) x = std::copysign(std::max(0.0, std::abs(x) - theta), x);
  return w;
}

}  // namespace

TEST(L1Ball, ProjectsLikeTheSortingAlgorithm) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    auto w = random_vector(1 + static_cast<std::size_t>(trial) % 60, random);
    if (trial % 3 == 0)
      for (double& x : w) x = std::round(2 * x);  // many ties
    const double radius = 0.05 * (trial % 50);
    const auto expected = project_by_sorting(w, radius);
    L1Ball{radius}.project(w);
    for (std::size_t j = 0; j < w.size(); ++j) EXPECT_NEAR(w[j], expected[j], 1e-13);
    EXPECT_TRUE(L1Ball{radius}.contains(w, 1e-12));
  }
}

TEST(L1Ball, ProjectionSatisfiesTheVariationalInequality) {
  // <v - P v, u - P v> <= 0 for every u in the ball; its vertices suffice.
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 100; ++trial) {
    const auto v = random_vector(12, random);
    auto p = v;
    const L1Ball ball{1.5};
    ball.project(p);
    std::vector<double> normal(12);
    for (std::size_t j = 0; j < 12; ++j) normal[j] = v[j] - p[j];
    EXPECT_LE(ball.support(normal), dot(normal, p) + 1e-12);
  }
}

TEST(L1Ball, LeavesPointsInsideAlone) {
  std::vector<double> w = {0.25, -0.5, 0.1};
  const auto before = w;
  L1Ball{0.85}.project(w);
  EXPECT_EQ(w, before);
}

TEST(L1Ball, LinearMinimiserIsTheBestOfAllVertices) {
  std::mt19937_64 random(3);
  const L1Ball ball{2.5};
  for (int trial = 0; trial < 100; ++trial) {
    const auto g = random_vector(9, random);
    const Vertex vertex = ball.minimise_linear(g);
    double best = 0;
    for (std::size_t j = 0; j < 9; ++j) best = std::min(best, -2.5 * std::abs(g[j]));
    EXPECT_EQ(vertex.value * g[vertex.coordinate], best);
    EXPECT_EQ(ball.support(g), -best);
  }
}

TEST(L1Ball, LinearMinimiserPrefersTheSmallerIndexInATie) {
  const Vertex vertex = L1Ball{1}.minimise_linear(std::vector<double>{0.5, -2, 2});
  EXPECT_EQ(vertex.coordinate, 1U);
  EXPECT_EQ(vertex.value, 1);
}

TEST(Box, ProjectsMinimisesAndSupportsCoordinateByCoordinate) {
  const Box box{-0.5, 2};
  std::vector<double> w = {-3, 0.2, 5};
  box.project(w);
  EXPECT_EQ(w, (std::vector<double>{-0.5, 0.2, 2}));
  EXPECT_TRUE(box.contains(w));
  const std::vector<double> g = {1, -1, 3};
  std::vector<double> corner(3);
  box.minimise_linear(g, corner);
  EXPECT_EQ(corner, (std::vector<double>{-0.5, 2, -0.5}));
  EXPECT_EQ(box.support(g), 2 + 0.5 + 6);
}

TEST(SparseSet, KeepsTheLargestOfEachClass) {
  std::vector<double> w = {1, -3, 2, 0.5, 0.1, -0.2};
  SparseSet{1, 2}.project(w);
  EXPECT_EQ(w, (std::vector<double>{0, -3, 0, 0.5, 0, 0}));
  EXPECT_TRUE((SparseSet{1, 2}.contains(w)));
  EXPECT_FALSE((SparseSet{1, 1}.contains(w)));
}

TEST(SparseSet, BreaksTiesByTheSmallerIndex) {
  std::vector<double> w = {1, -1, 1, -1};
  SparseSet{2, 1}.project(w);
  EXPECT_EQ(w, (std::vector<double>{1, -1, 0, 0}));
}

TEST(SparseSet, IsNearerThanEveryOtherSparsePoint) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 50; ++trial) {
    const auto v = random_vector(8, random);
    auto p = v;
    SparseSet{3, 1}.project(p);
    double kept = 0;
    for (std::size_t j = 0; j < 8; ++j) kept += p[j] != 0 ? v[j] * v[j] : 0;
    for (unsigned mask = 0; mask < 256; ++mask) {
      if (__builtin_popcount(mask) != 3) continue;
      double other = 0;
      for (std::size_t j = 0; j < 8; ++j) other += (mask >> j & 1) != 0 ? v[j] * v[j] : 0;
      EXPECT_GE(kept, other - 1e-15);
    }
  }
}
