// Small noisy problems of every task, with features and labels in [-1, 1], and what certifies a solution of them.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "parley/algorithms/parts/fit.h"
#include "parley/glm/batch.h"
#include "parley/glm/penalties.h"

namespace parley::test {

struct Data {
  linalg::Matrix features;
  std::vector<double> labels;
};

inline Data noisy_data(glm::Task task, int rows, int columns, double density, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> values;
  for (int at = 0; at < rows * columns; ++at)
    values.push_back(uniform(random) < density ? std::clamp(0.4 * normal(random) + 0.1, -1.0, 1.0) : 0.0);
  Data data{linalg::Matrix::from_dense(rows, columns, values), {}};
  for (int i = 0; i < rows; ++i) {
    double margin = 0.2 + 0.5 * normal(random);
    for (int j = 0; j < std::min(columns, 3); ++j)
      margin += (j == 1 ? -2.0 : 1.0) * values[static_cast<std::size_t>(j * rows + i)];
    if (task == glm::Task::kLinear)
      data.labels.push_back(std::clamp(margin, -1.0, 1.0));
    else if (task == glm::Task::kSoftmax)
      data.labels.push_back(margin > 0.5 ? 2 : margin > 0 ? 1 : 0);
    else
      data.labels.push_back(margin > 0 ? 1 : -1);
  }
  return data;
}

inline glm::Objective objective_of(glm::Task task, double l1, double l2,
                                   glm::Intercept intercept = glm::Intercept::kNone) {
  return {.task = task, .classes = task == glm::Task::kSoftmax ? 3 : 1, .l1 = l1, .l2 = l2, .intercept = intercept};
}

// The largest distance of a partial derivative from the subdifferential of the penalty.
inline double distance_from_optimality(const algorithms::Problem& problem, const algorithms::Fit& fit) {
  const auto n = problem.labels.size();
  const auto d = static_cast<std::size_t>(problem.features.cols());
  const auto classes = static_cast<std::size_t>(problem.objective.classes);
  const glm::Penalty penalty = penalty_of(problem.objective);
  const bool counted = problem.objective.intercept == glm::Intercept::kPenalised;
  std::vector<double> q(n * classes);
  glm::compute_margins(problem.features, fit.weights, fit.intercepts, q);
  glm::loss_derivatives(problem.objective.task, q, problem.labels, q);
  double largest = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    const auto plane = std::span(q).subspan(k * n, n);
    for (std::size_t j = 0; j < d; ++j) {
      const double g = problem.features.column_dot(static_cast<linalg::Index>(j), plane) / static_cast<double>(n);
      largest = std::max(largest, penalty.subgradient_distance(fit.weights[k * d + j], g));
    }
    if (fit.intercepts.empty()) continue;
    const double g = std::accumulate(plane.begin(), plane.end(), 0.0) / static_cast<double>(n);
    largest = std::max(largest, counted ? penalty.subgradient_distance(fit.intercepts[k], g) : std::abs(g));
  }
  return largest;
}

}  // namespace parley::test
