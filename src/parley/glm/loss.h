// Losses phi(m, y) of a margin m = <x, w> + b and a label y.
//
//                   phi(m, y)                y               phi*(u, y) = sup_m u m - phi(m, y), the convex conjugate
//   squared         1/2 (m - y)^2            real            u^2/2 + u y
//   logistic        log(1 + exp(-y m))       -1, +1          a log a + (1-a) log(1-a)   a = -u y in [0, 1]
//   squared hinge   max(0, 1 - y m)^2        -1, +1          a^2/4 - a                  a = -u y >= 0
//   softmax         -log softmax(m)_y        0, ..., K-1     softmax.h
//   Poisson         e^m - y m + y log y - y  y >= 0          s log s - s - (y log y - y)   s = u + y in [0, e^20]
//
// The Poisson loss is half the deviance of a count y whose rate is e^m; beyond m = 20 it goes on as a straight line, so
// that it stays finite, and counts above e^20 have no place in it.
//
// The conjugate is +infinity outside the stated domain; Fenchel-Young gives phi(m) + phi*(u) >= u m with equality at
// u = phi'(m). The proximal point is
//
//   prox(step, v) = argmin_m step phi(m, y) + 1/2 (m - v)^2
//
// Each scalar loss is a type with static members, so that a kernel written for "any loss" is compiled once per loss and
// vectorises. All members are safe at margins of +-1e6 and beyond.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace parley::glm {

enum class Task { kLinear, kLogistic, kSquaredHinge, kSoftmax, kPoisson };

// Whether labels are numbers rather than classes.
constexpr bool has_real_labels(Task task) {
  return task == Task::kLinear || task == Task::kPoisson;
}

// x log x, continued by its limit 0 at x = 0.
inline double x_log_x(double x) {
  return x > 0 ? x * std::log(x) : 0.0;
}

struct Squared {
  static double value(double m, double y) { return 0.5 * (m - y) * (m - y); }
  static double derivative(double m, double y) { return m - y; }
  static double second(double, double) { return 1.0; }
  static constexpr double kCurvature = 1.0;  // sup of the second derivative

  static double prox(double step, double v, double y) { return v + (y - v) * (step / (1.0 + step)); }
  static double conjugate(double u, double y) { return u * (0.5 * u + y); }
  static bool in_conjugate_domain(double, double) { return true; }
  static double nearest_in_conjugate_domain(double u, double) { return u; }
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

  static double prox(double step, double v, double y);
  static double conjugate(double u, double y) {
    const double a = -u * y;
    if (!in_conjugate_domain(u, y)) return std::numeric_limits<double>::infinity();
    return x_log_x(a) + (a < 1 ? (1.0 - a) * std::log1p(-a) : 0.0);
  }
  static bool in_conjugate_domain(double u, double y) { return -u * y >= 0 && -u * y <= 1; }
  static double nearest_in_conjugate_domain(double u, double y) { return -y * std::clamp(-u * y, 0.0, 1.0); }
};

struct SquaredHinge {
  static double value(double m, double y) {
    const double slack = std::max(0.0, 1.0 - y * m);
    return slack * slack;
  }
  static double derivative(double m, double y) { return -2.0 * y * std::max(0.0, 1.0 - y * m); }
  static double second(double m, double y) { return y * m < 1.0 ? 2.0 : 0.0; }
  static constexpr double kCurvature = 2.0;

  static double prox(double step, double v, double y) {
    return v + y * std::max(0.0, 1.0 - y * v) * (2.0 * step / (1.0 + 2.0 * step));
  }
  static double conjugate(double u, double y) {
    const double a = -u * y;
    return a >= 0 ? a * (0.25 * a - 1.0) : std::numeric_limits<double>::infinity();
  }
  static bool in_conjugate_domain(double u, double y) { return -u * y >= 0; }
  static double nearest_in_conjugate_domain(double u, double y) { return -y * std::max(0.0, -u * y); }
};

struct Poisson {
  static constexpr double kLargestLogRate = 20;
  static constexpr double kLargestRate = 485165195.40979028;  // e^20

  static double rate(double m) { return std::exp(std::min(m, kLargestLogRate)); }
  static double value(double m, double y) {
    return rate(m) * (1.0 + std::max(m - kLargestLogRate, 0.0)) - y * m + x_log_x(y) - y;
  }
  static double derivative(double m, double y) { return rate(m) - y; }
  static double second(double m, double) { return m <= kLargestLogRate ? rate(m) : 0.0; }
  static constexpr double kCurvature = kLargestRate;

  static double prox(double step, double v, double y);
  static double conjugate(double u, double y) {
    const double s = u + y;
    if (!in_conjugate_domain(u, y)) return std::numeric_limits<double>::infinity();
    return x_log_x(s) - s - (x_log_x(y) - y);
  }
  static bool in_conjugate_domain(double u, double y) { return u + y >= 0 && u + y <= kLargestRate; }
  static double nearest_in_conjugate_domain(double u, double y) { return std::clamp(u + y, 0.0, kLargestRate) - y; }
};

// Calls f with the scalar loss of the task: with_loss(task, [&](auto loss) { loss.value(m, y); }).
template <class F>
decltype(auto) with_loss(Task task, F&& f) {
  switch (task) {
    case Task::kLogistic:
      return f(Logistic{});
    case Task::kSquaredHinge:
      return f(SquaredHinge{});
    case Task::kPoisson:
      return f(Poisson{});
    default:
      return f(Squared{});
  }
}

std::string_view name(Task task);  // "linear", "logistic", "squared-hinge", "softmax", "poisson"

// Largest curvature of the loss in its margin(s): of the second derivative, or of the Hessian's norm.
double curvature_bound(Task task);

}  // namespace parley::glm
