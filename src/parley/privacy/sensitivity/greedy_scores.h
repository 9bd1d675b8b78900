// How much a coordinate promises to greedy coordinate descent. With g the partial derivative of the mean loss, M its
// smoothness, w the weight and psi(w) = l1 |w| + l2/2 w^2, a step by alpha changes the objective by at most
//
//   model(alpha) = g alpha + M/2 alpha^2 + psi(w + alpha) - psi(w),       alpha* = prox(w - g/M; psi/M) - w its argmin
//
//   gs     |g + l2 w| / sqrt(M + l2)                           smooth objectives only (l1 = 0)
//   gs-s   min over xi in the subdifferential of psi at w of |g + xi| / sqrt(M)
//   gs-r   sqrt(M) |alpha*|
//   gs-q   sqrt(2 D),  D = -model(alpha*)                      the same order as D itself
//
// Each is (1/sqrt M)-Lipschitz in g, gs even (1/sqrt(M + l2))-Lipschitz: that is the slope of the rule. gs-q is
// computed from sums of nonnegative terms: a difference under a square root would lose half of its digits.
// Proof note: greedy_scores.md.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "parley/linalg/vectors.h"

namespace parley::privacy {

enum class GreedyRule { kSmooth, kSubgradient, kStep, kDecrease };  // gs, gs-s, gs-r, gs-q

struct ElasticNet {  // psi
  double l1 = 0;
  double l2 = 0;
};

struct CoordinateModel {
  double gradient = 0;    // g
  double weight = 0;      // w
  double smoothness = 1;  // M
};

// alpha*, without the cancellation of prox(w - g/M) - w.
inline double best_step(const CoordinateModel& at, const ElasticNet& penalty) {
  const double h = at.smoothness + penalty.l2;
  if (at.weight == 0) return -linalg::soft_threshold(at.gradient, penalty.l1) / h;
  const double sign = std::copysign(1.0, at.weight);
  const double slope = at.gradient + penalty.l2 * at.weight + sign * penalty.l1;
  const double beyond = sign * slope - h * std::abs(at.weight);  // what is left of the slope at zero
  if (beyond <= 0) return -slope / h;
  return -at.weight - sign * std::max(0.0, beyond - 2 * penalty.l1) / h;
}

inline double best_decrease_score(const CoordinateModel& at, const ElasticNet& penalty) {
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

inline double subgradient_distance(const CoordinateModel& at, const ElasticNet& penalty) {
  if (at.weight == 0) return std::max(0.0, std::abs(at.gradient) - penalty.l1);
  return std::abs(at.gradient + std::copysign(penalty.l1, at.weight) + penalty.l2 * at.weight);
}

inline double greedy_score(GreedyRule rule, const CoordinateModel& at, const ElasticNet& penalty) {
  switch (rule) {
    case GreedyRule::kSmooth:
      return std::abs(at.gradient + penalty.l2 * at.weight) / std::sqrt(at.smoothness + penalty.l2);
    case GreedyRule::kSubgradient:
      return subgradient_distance(at, penalty) / std::sqrt(at.smoothness);
    case GreedyRule::kStep:
      return std::sqrt(at.smoothness) * std::abs(best_step(at, penalty));
    case GreedyRule::kDecrease:
      return best_decrease_score(at, penalty);
  }
  return 0;
}

// The scores of all coordinates at the current weights, a score rule (score_rules.h). Coordinates are k *
// smoothness.size() + j for class k and column j.
class GreedyScores {
 public:
  static constexpr std::size_t kSides = 1;

  // `weights`: one per coordinate; read whenever a score is, so they must outlive it. `smoothness`: M, one per column.
  // `free_constant`: the last column is an intercept without penalty.
  GreedyScores(GreedyRule rule, const ElasticNet& penalty, std::span<const double> weights,
               std::span<const double> smoothness, bool free_constant = false)
      : rule_(rule), penalty_(penalty), weights_(weights), free_constant_(free_constant) {
    set_smoothness(smoothness);
  }
  void set_smoothness(std::span<const double> smoothness) {
    smoothness_.assign(smoothness.begin(), smoothness.end());
    slopes_.resize(smoothness_.size());
    for (std::size_t j = 0; j < slopes_.size(); ++j)
      slopes_[j] = 1 / std::sqrt(smoothness_[j] + (rule_ == GreedyRule::kSmooth ? penalty_at(j).l2 : 0.0));
    const auto same = [](std::span<const double> of) {
      return std::all_of(of.begin(), of.end(), [&](double value) { return value == of.front(); });
    };
    alike_ = same(smoothness_) && same(slopes_);
  }

  [[nodiscard]] [[gnu::always_inline]] double score(std::size_t coordinate, double gradient) const {
    if (rule_ == GreedyRule::kSmooth)  // without a root and a division
      return std::abs(gradient + penalty_at(coordinate).l2 * weights_[coordinate]) * slope(coordinate);
    return greedy_score(rule_, at(coordinate, gradient), penalty_at(coordinate));
  }
  [[nodiscard]] double slope(std::size_t coordinate) const { return slopes_[alike_ ? 0 : column(coordinate)]; }
  [[nodiscard]] double offset(std::size_t coordinate) const {
    return penalty_.l1 + (penalty_.l2 + smoothness_at(coordinate)) * std::abs(weights_[coordinate]);
  }

  [[nodiscard]] const ElasticNet& penalty() const { return penalty_; }
  [[nodiscard]] std::span<const double> smoothness() const { return smoothness_; }
  [[nodiscard]] CoordinateModel at(std::size_t coordinate, double gradient) const {
    return {gradient, weights_[coordinate], smoothness_at(coordinate)};
  }
  [[nodiscard]] ElasticNet penalty_at(std::size_t coordinate) const {
    return free_constant_ && column(coordinate) + 1 == smoothness_.size() ? ElasticNet{} : penalty_;
  }

 private:
  [[nodiscard]] std::size_t column(std::size_t coordinate) const {
    return coordinate < smoothness_.size() ? coordinate : coordinate % smoothness_.size();  // divisions are slow
  }
  [[nodiscard]] double smoothness_at(std::size_t coordinate) const {
    return smoothness_[alike_ ? 0 : column(coordinate)];
  }

  GreedyRule rule_;
  ElasticNet penalty_;
  std::span<const double> weights_;
  std::vector<double> smoothness_;
  std::vector<double> slopes_;  // 1 / sqrt(M), for gs 1 / sqrt(M + l2)
  bool free_constant_;
  bool alike_ = false;  // all columns have the same smoothness and slope: there is nothing to look up
};

}  // namespace parley::privacy
