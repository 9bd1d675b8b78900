// Small sparse problems with labels of a sparse model, for tests of greedy coordinate descent and its kin.
#pragma once
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "parley/algorithms/coordinate/greedy_cd.h"
#include "parley/algorithms/parts/fit.h"

namespace parley::algorithms {

using glm::Intercept;
using glm::Task;
using linalg::Matrix;

inline constexpr Task kTasks[] = {Task::kLinear, Task::kLogistic, Task::kSquaredHinge, Task::kSoftmax};
inline constexpr GreedyRule kRules[] = {GreedyRule::kSmooth, GreedyRule::kSubgradient, GreedyRule::kStep,
                                        GreedyRule::kDecrease};

struct Data {
  Matrix features;
  std::vector<double> labels;
};

// Sparse rows on the grid 2^-8 within [-1, 1], noisy labels of a sparse model.
inline Data sparse_data(Task task, int rows, int columns, double density, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> values;
  for (int at = 0; at < rows * columns; ++at) {
    const double value = std::clamp(0.4 * normal(random) + 0.1, -1.0, 1.0);
    values.push_back(uniform(random) < density ? std::nearbyint(value * 256) / 256 : 0.0);
  }
  Data data{Matrix::from_dense(rows, columns, values), {}};
  for (int i = 0; i < rows; ++i) {
    double margin = 0.5 * normal(random);
    for (int j = 0; j < std::min(columns, 6); ++j)
      margin += (j % 2 == 0 ? 3.0 : -2.0) * values[static_cast<std::size_t>(j * rows + i)];
    switch (task) {
      case Task::kLinear:
        data.labels.push_back(margin);
        break;
      case Task::kSoftmax:
        data.labels.push_back(margin > 0.8 ? 2 : margin < -0.3 ? 0 : 1);
        break;
      default:
        data.labels.push_back(margin > 0.2 ? 1 : -1);
    }
  }
  return data;
}

inline glm::Objective objective_of(Task task, double l1, double l2, Intercept intercept = Intercept::kNone) {
  return {.task = task, .classes = task == Task::kSoftmax ? 3 : 1, .l1 = l1, .l2 = l2, .intercept = intercept};
}

}  // namespace parley::algorithms
