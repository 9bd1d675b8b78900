#include "parley/algorithms/parts/descent_length.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace parley::algorithms {

namespace {

constexpr double kDeviations = 3;  // of the labels in their bound, as bounds are usually chosen

}  // namespace

double noise_cost(const DescentNoise& noise, double length) {
  if (!(length > 0)) return 0;
  const double deviation = noise.per_length * length;
  const double squares = noise.coordinates * deviation * deviation;
  const double bend = noise.curvature * noise.row_norm * noise.row_norm;
  const double loss = std::min(0.5 * (bend * deviation * deviation + noise.l2 * squares), squares / (4 * length));
  const double l1 =
      std::min(noise.l1 * noise.coordinates * deviation * std::sqrt(2 * std::numbers::inv_pi), squares / (2 * length));
  return loss + l1;
}

double longest_descent(const DescentNoise& noise, double longest, double most) {
  if (noise_cost(noise, longest) <= most) return longest;
  double low = 0, high = longest;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = 0.5 * (low + high);
    (noise_cost(noise, middle) <= most ? low : high) = middle;
  }
  return low;
}

double total_curvature(const glm::Objective& objective) {
  return objective.task == glm::Task::kSoftmax ? 1 - 1.0 / objective.classes : glm::curvature_bound(objective.task);
}

double loss_of_nothing(const glm::Objective& objective, double label_bound) {
  switch (objective.task) {
    case glm::Task::kPoisson:  // has no private form, and no descent of this length
    case glm::Task::kLinear:
      return 0.5 * std::pow(label_bound / kDeviations, 2);
    case glm::Task::kLogistic:
      return std::numbers::ln2;
    case glm::Task::kSquaredHinge:
      return 1;
    case glm::Task::kSoftmax:
      return std::log(static_cast<double>(objective.classes));
  }
  return 1;
}

double derivative_at_zero(const glm::Objective& objective, double label_bound) {
  switch (objective.task) {
    case glm::Task::kPoisson:  // refused before
    case glm::Task::kLinear:
      return label_bound;
    case glm::Task::kLogistic:
      return 0.5;
    case glm::Task::kSquaredHinge:
      return 2;
    case glm::Task::kSoftmax:
      return std::sqrt(1 - 1.0 / objective.classes);
  }
  return 1;
}

}  // namespace parley::algorithms
