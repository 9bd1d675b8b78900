#include "parley/glm/loss.h"

namespace parley::glm {

// With z = y m and t = y v the proximal point is the root of h(z) = z - t - step / (1 + e^z), which lies in
// [t, t + step]. h increases; it is convex for z < 0 and concave for z > 0, so Newton's iterates that
// start at the point of [t, t + step] nearest to 0 never pass the root: no safeguard is needed.
double Logistic::prox(double step, double v, double y) {
  const double t = y * v;
  double z = std::clamp(0.0, t, t + step);
  constexpr int kMoreThanAnyDoubleNeeds = 2000;  // one unit of z per step while e^-z step is large
  for (int i = 0; i < kMoreThanAnyDoubleNeeds; ++i) {
    const double e = std::exp(-std::abs(z));
    const double share = (z >= 0 ? e : 1.0) / (1.0 + e);  // 1 / (1 + e^z)
    const double slope = 1.0 + step * (e / ((1.0 + e) * (1.0 + e)));
    const double move = ((z - t) - step * share) / slope;
    z -= move;
    if (std::abs(move) <= 1e-15 * std::max(std::abs(z), std::abs(t)) || move == 0) break;
  }
  return y * z;
}

// The root of h(m) = m - v + step (rate(m) - y), which increases; it lies between v and v + step (y - rate(v)).
double Poisson::prox(double step, double v, double y) {
  double low = std::min(v, v + step * (y - rate(v))), high = std::max(v, v + step * (y - rate(v)));
  double m = std::clamp(0.0, low, high);
  for (int i = 0; i < 200 && low < high; ++i) {
    const double h = m - v + step * derivative(m, y);
    (h > 0 ? high : low) = m;
    double next = m - h / (1.0 + step * second(m, y));
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (std::abs(next - m) <= 1e-15 * std::max(1.0, std::abs(m))) break;
    m = next;
  }
  return m;
}

std::string_view name(Task task) {
  switch (task) {
    case Task::kLinear:
      return "linear";
    case Task::kLogistic:
      return "logistic";
    case Task::kSquaredHinge:
      return "squared-hinge";
    case Task::kSoftmax:
      return "softmax";
    case Task::kPoisson:
      return "poisson";
  }
  return "?";
}

double curvature_bound(Task task) {
  switch (task) {
    case Task::kLinear:
      return Squared::kCurvature;
    case Task::kLogistic:
      return Logistic::kCurvature;
    case Task::kSquaredHinge:
      return SquaredHinge::kCurvature;
    case Task::kPoisson:
      return Poisson::kCurvature;
    case Task::kSoftmax:
      return 0.5;
  }
  return 0;
}

}  // namespace parley::glm
