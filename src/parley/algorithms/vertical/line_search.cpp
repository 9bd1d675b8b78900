#include "parley/algorithms/vertical/line_search.h"

#include <cmath>
#include <vector>

#include "parley/glm/unbiased.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

// The zero of the derivative, which grows: halved until it cannot be told apart, by Newton's step where that stays
// inside.
double best_on_line(glm::Task task, const MarginLine& line) {
  const std::size_t n = line.labels.size();
  std::vector<double> at(n), work(n);
  const auto slope = [&](double gamma, double& curvature) {
    at.assign(line.start.begin(), line.start.end());
    linalg::axpy(gamma, line.direction, at);
    glm::unbiased::loss_curvatures(task, at, line.labels, work);
    curvature = 0;
    for (std::size_t i = 0; i < n; ++i) curvature += work[i] * line.direction[i] * line.direction[i];
    glm::unbiased::loss_derivatives(task, at, line.labels, work);
    return linalg::dot(work, line.direction);
  };
  double low = 0, high = 1, curvature = 0;
  if (slope(0, curvature) >= 0) return 0;
  if (slope(1, curvature) <= 0) return 1;
  double gamma = 0.5;
  for (int i = 0; i < 100 && high - low > 1e-15; ++i) {
    const double there = slope(gamma, curvature);
    if (there == 0) break;
    (there > 0 ? high : low) = gamma;
    const double newton = curvature > 0 ? gamma - there / curvature : low;
    const double next = newton > low && newton < high ? newton : (low + high) / 2;
    if (std::abs(next - gamma) < 1e-16) break;
    gamma = next;
  }
  return gamma;
}

}  // namespace parley::algorithms
