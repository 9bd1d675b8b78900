// Penalties Omega(w) = sum_j l1 |w_j| + l2/2 w_j^2: none, l1, l2 and elastic net are choices of two numbers.
//
//   prox(step, v)          = argmin_w step omega(w) + 1/2 (w - v)^2 = soft(v, step l1) / (1 + step l2)
//   omega*(u)              = sup_w u w - omega(w) = max(|u| - l1, 0)^2 / (2 l2);
//                            for l2 = 0: 0 if |u| <= l1, else +infinity
//   subgradient distance   = min over xi in the subdifferential of omega at w of |g + xi|: zero exactly at an optimum
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "parley/linalg/vectors.h"

namespace parley::glm {

struct Penalty {
  double l1 = 0;
  double l2 = 0;

  [[nodiscard]] double value(double w) const { return l1 * std::abs(w) + 0.5 * l2 * w * w; }
  [[nodiscard]] double prox(double step, double v) const {
    return linalg::soft_threshold(v, step * l1) / (1.0 + step * l2);
  }
  [[nodiscard]] double subgradient_distance(double w, double g) const {
    if (w == 0) return std::max(0.0, std::abs(g) - l1);
    return std::abs(g + std::copysign(l1, w) + l2 * w);
  }
  [[nodiscard]] double conjugate(double u) const {
    const double excess = std::max(0.0, std::abs(u) - l1);
    if (excess == 0) return 0;
    return l2 > 0 ? excess * excess / (2.0 * l2) : std::numeric_limits<double>::infinity();
  }

  // Over all coordinates: sums; the largest for the distance (an infinity-norm certificate).
  [[nodiscard]] double value(std::span<const double> w) const;
  [[nodiscard]] double conjugate(std::span<const double> u) const;
  [[nodiscard]] double subgradient_distance(std::span<const double> w, std::span<const double> g) const;
  void prox(double step, std::span<const double> v, std::span<double> out) const;
};

inline constexpr Penalty no_penalty() {
  return {};
}
inline constexpr Penalty l1_penalty(double l1) {
  return {l1, 0};
}
inline constexpr Penalty l2_penalty(double l2) {
  return {0, l2};
}
inline constexpr Penalty elastic_net(double l1, double l2) {
  return {l1, l2};
}

}  // namespace parley::glm
