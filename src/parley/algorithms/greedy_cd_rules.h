// How much a coordinate promises. With g the partial derivative of the mean loss, M its smoothness, w the weight and
// psi(w) = l1 |w| + l2/2 w^2, a step by alpha changes the objective by at most
//
//   model(alpha) = g alpha + M/2 alpha^2 + psi(w + alpha) - psi(w),       alpha* = prox(w - g/M; psi/M) - w its argmin
//
//   gs     |g + l2 w| / sqrt(M + l2)                           smooth objectives only (l1 = 0)
//   gs-s   min over xi in the subdifferential of psi at w of |g + xi| / sqrt(M)
//   gs-r   sqrt(M) |alpha*|
//   gs-q   sqrt(2 D),  D = -model(alpha*)                      the same order as D itself
//
// Each is (1/sqrt M)-Lipschitz in g (greedy_cd.md), so a score moves by at most 1/sqrt(M) of what g moves. gs-q is
// computed from sums of nonnegative terms: a difference under a square root would lose half of its digits.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "parley/glm/penalties.h"
#include "parley/privacy/sensitivity/exact_sums.h"

namespace parley::algorithms {

enum class GreedyRule { kSmooth, kSubgradient, kStep, kDecrease };  // gs, gs-s, gs-r, gs-q

struct Coordinate {
  double gradient = 0;    // g
  double weight = 0;      // w
  double smoothness = 1;  // M
};

// alpha*, without the cancellation of prox(w - g/M) - w.
inline double best_step(const Coordinate& at, const glm::Penalty& penalty) {
  const double h = at.smoothness + penalty.l2;
  if (at.weight == 0) return -linalg::soft_threshold(at.gradient, penalty.l1) / h;
  const double sign = std::copysign(1.0, at.weight);
  const double slope = at.gradient + penalty.l2 * at.weight + sign * penalty.l1;
  const double beyond = sign * slope - h * std::abs(at.weight);  // what is left of the slope at zero
  if (beyond <= 0) return -slope / h;
  return -at.weight - sign * std::max(0.0, beyond - 2 * penalty.l1) / h;
}

inline double best_decrease_score(const Coordinate& at, const glm::Penalty& penalty) {
  const double h = at.smoothness + penalty.l2;
  if (at.weight == 0) return std::max(0.0, std::abs(at.gradient) - penalty.l1) / std::sqrt(h);
  const double sign = std::copysign(1.0, at.weight);
  const double size = std::abs(at.weight);
  const double slope = sign * (at.gradient + penalty.l2 * at.weight + sign * penalty.l1);
  const double beyond = slope - h * size;
  if (beyond <= 0) return std::abs(slope) / std::sqrt(h);
  const double across = std::max(0.0, beyond - 2 * penalty.l1);
  return std::sqrt(2 * size * (slope - 0.5 * h * size) + across * across / h);
}

inline double greedy_score(GreedyRule rule, const Coordinate& at, const glm::Penalty& penalty) {
  switch (rule) {
    case GreedyRule::kSmooth:
      return std::abs(at.gradient + penalty.l2 * at.weight) / std::sqrt(at.smoothness + penalty.l2);
    case GreedyRule::kSubgradient:
      return penalty.subgradient_distance(at.weight, at.gradient) / std::sqrt(at.smoothness);
    case GreedyRule::kStep:
      return std::sqrt(at.smoothness) * std::abs(best_step(at, penalty));
    case GreedyRule::kDecrease:
      return best_decrease_score(at, penalty);
  }
  return 0;
}

// The scores of all coordinates at the current weights, in the form that privacy::ExactSums asks of a rule.
struct GreedyScores {
  static constexpr std::size_t kSides = 1;
  GreedyRule rule;
  glm::Penalty penalty;
  std::span<const double> weights;     // one per coordinate
  std::span<const double> smoothness;  // one per column, coordinates being k * smoothness.size() + j
  std::span<const double> slopes;      // 1 / sqrt of it, for gs of it and l2
  bool free_constant = false;          // the last column is an intercept without penalty
  bool alike = false;                  // all columns have the same smoothness: there is nothing to look up

  [[nodiscard]] std::size_t column(std::size_t coordinate) const {
    return coordinate < smoothness.size() ? coordinate : coordinate % smoothness.size();  // divisions are slow
  }
  [[nodiscard]] Coordinate at(std::size_t coordinate, double gradient) const {
    return {gradient, weights[coordinate], smoothness_at(coordinate)};
  }
  [[nodiscard]] glm::Penalty penalty_at(std::size_t coordinate) const {
    return free_constant && column(coordinate) + 1 == smoothness.size() ? glm::no_penalty() : penalty;
  }
  [[nodiscard]] [[gnu::always_inline]] double score(std::size_t coordinate, double gradient) const {
    if (rule == GreedyRule::kSmooth)  // without a root and a division
      return std::abs(gradient + penalty_at(coordinate).l2 * weights[coordinate]) * slope(coordinate);
    return greedy_score(rule, at(coordinate, gradient), penalty_at(coordinate));
  }
  [[nodiscard]] double slope(std::size_t coordinate) const { return slopes[alike ? 0 : column(coordinate)]; }
  [[nodiscard]] double offset(std::size_t coordinate) const {
    return penalty.l1 + (penalty.l2 + smoothness_at(coordinate)) * std::abs(weights[coordinate]);
  }
  [[nodiscard]] double smoothness_at(std::size_t coordinate) const { return smoothness[alike ? 0 : column(coordinate)]; }
};

}  // namespace parley::algorithms

template <>
inline constexpr bool parley::privacy::kProvedSlope<parley::algorithms::GreedyScores> = true;  // greedy_cd.md
