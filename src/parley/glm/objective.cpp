#include "parley/glm/objective.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "parley/glm/batch.h"
#include "parley/linalg/matrix.h"
#include "parley/linalg/vectors.h"

namespace parley::glm {

void compute_margins(const linalg::Matrix& features, std::span<const double> weights,
                     std::span<const double> intercepts, std::span<double> margins) {
  const auto rows = static_cast<std::size_t>(features.rows());
  const auto columns = static_cast<std::size_t>(features.cols());
  const std::size_t classes = rows > 0 ? margins.size() / rows : 0;
  assert(margins.size() == classes * rows && weights.size() == classes * columns);
  assert(intercepts.empty() || intercepts.size() == classes);
  for (std::size_t k = 0; k < classes; ++k) {
    const auto plane = margins.subspan(k * rows, rows);
    features.multiply(weights.subspan(k * columns, columns), plane);
    if (!intercepts.empty())
      for (double& margin : plane) margin += intercepts[k];
  }
}

double penalty_value(const Objective& objective, std::span<const double> weights, std::span<const double> intercepts) {
  const Penalty penalty = penalty_of(objective);
  const double of_weights = penalty.value(weights);
  return objective.intercept == Intercept::kPenalised ? of_weights + penalty.value(intercepts) : of_weights;
}

double evaluate(const Objective& objective, std::span<const double> margins, std::span<const double> labels,
                std::span<const double> weights, std::span<const double> intercepts) {
  return mean_loss(objective.task, margins, labels) + penalty_value(objective, weights, intercepts);
}

double evaluate(const Objective& objective, const linalg::Matrix& features, std::span<const double> labels,
                std::span<const double> weights, std::span<const double> intercepts) {
  std::vector<double> margins(labels.size() * static_cast<std::size_t>(objective.classes));
  compute_margins(features, weights, intercepts, margins);
  return evaluate(objective, margins, labels, weights, intercepts);
}

bool feasible(const Objective& objective, std::span<const double> weights, std::span<const double> intercepts,
              double slack) {
  const bool counted = objective.intercept == Intercept::kPenalised;
  const auto outside = [&](double w) { return !(std::abs(w) <= *objective.box + slack); };
  if (objective.box && (std::any_of(weights.begin(), weights.end(), outside) ||
                        (counted && std::any_of(intercepts.begin(), intercepts.end(), outside))))
    return false;
  if (!objective.l1_groups.empty()) {
    const double radius = *objective.l1_radius / static_cast<double>(objective.l1_groups.size());
    std::size_t begin = 0;
    for (std::size_t g = 0; g < objective.l1_groups.size(); ++g) {
      const auto size = static_cast<std::size_t>(objective.l1_groups[g]);
      const bool last = g + 1 == objective.l1_groups.size();
      if (begin + size > weights.size()) return false;
      const double norm =
          linalg::l1_norm(weights.subspan(begin, size)) + (last && counted ? linalg::l1_norm(intercepts) : 0.0);
      if (!(norm <= radius + slack)) return false;
      begin += size;
    }
  } else if (objective.l1_radius) {
    const double norm = linalg::l1_norm(weights) + (counted ? linalg::l1_norm(intercepts) : 0.0);
    if (!(norm <= *objective.l1_radius + slack)) return false;
  }
  if (objective.sparsity) {
    const auto classes = static_cast<std::size_t>(objective.classes);
    const std::size_t columns = weights.size() / classes;
    for (std::size_t k = 0; k < classes; ++k) {
      const auto block = weights.subspan(k * columns, columns);
      auto nonzeros = columns - static_cast<std::size_t>(std::count(block.begin(), block.end(), 0.0));
      if (counted && k < intercepts.size() && intercepts[k] != 0) ++nonzeros;
      if (nonzeros > static_cast<std::size_t>(*objective.sparsity)) return false;
    }
  }
  return true;
}

}  // namespace parley::glm
