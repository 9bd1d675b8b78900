// Losses phi(m, y) of a margin m = <x, w> + b and a label y.
//
//   squared         1/2 (m - y)^2               y real
//   logistic        log(1 + exp(-y m))          y in {-1, +1}
//   squared hinge   max(0, 1 - y m)^2           y in {-1, +1}
//   softmax         -log softmax(m)_y           y in {0, ..., K-1}, m in R^K
//
// Each scalar loss is a type with static members, so that a kernel written for "any loss" is
// compiled once per loss and vectorises.
#pragma once
#include <algorithm>
#include <cmath>
#include <string_view>

namespace parley::glm {

enum class Task { kLinear, kLogistic, kSquaredHinge, kSoftmax };

struct Squared {
  static double value(double m, double y) { return 0.5 * (m - y) * (m - y); }
  static double derivative(double m, double y) { return m - y; }
  static double second(double, double) { return 1.0; }
  static constexpr double kCurvature = 1.0;  // sup of the second derivative
};

struct Logistic {
  // log(1 + e^-t) without overflow: max(-t, 0) + log1p(e^-|t|).
  static double value(double m, double y) {
    const double t = y * m;
    return std::max(-t, 0.0) + std::log1p(std::exp(-std::abs(t)));
  }
  static double derivative(double m, double y) {
    const double t = y * m;
    const double e = std::exp(-std::abs(t));
    return -y * (t >= 0 ? e : 1.0) / (1.0 + e);
  }
  static double second(double m, double y) {
    const double e = std::exp(-std::abs(y * m));
    return e / ((1.0 + e) * (1.0 + e));
  }
  static constexpr double kCurvature = 0.25;
};

struct SquaredHinge {
  static double value(double m, double y) {
    const double slack = std::max(0.0, 1.0 - y * m);
    return slack * slack;
  }
  static double derivative(double m, double y) { return -2.0 * y * std::max(0.0, 1.0 - y * m); }
  static double second(double m, double y) { return y * m < 1.0 ? 2.0 : 0.0; }
  static constexpr double kCurvature = 2.0;
};

// Calls f with the scalar loss of the task: with_loss(task, [&](auto loss) { loss.value(m, y); }).
template <class F>
decltype(auto) with_loss(Task task, F&& f) {
  switch (task) {
    case Task::kLogistic: return f(Logistic{});
    case Task::kSquaredHinge: return f(SquaredHinge{});
    default: return f(Squared{});
  }
}

std::string_view name(Task task);  // "linear", "logistic", "squared-hinge", "softmax"

}  // namespace parley::glm
