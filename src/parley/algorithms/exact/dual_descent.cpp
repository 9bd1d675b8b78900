#include "parley/algorithms/exact/dual_descent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "parley/glm/vector_math.h"

namespace parley::algorithms {

namespace {

constexpr int kMostEpochs = 300;
constexpr int kTrialEpochs = 8;      // before the trend counts
constexpr double kSlowTrend = 0.97;  // gain of an epoch over that of the one before

// xorshift64* (Marsaglia 2003, Vigna 2016): an order of rows, nothing that needs to be unpredictable.
std::size_t below(std::size_t bound, std::uint64_t& state) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return static_cast<std::size_t>(((state * 0x2545F4914F6CDD1DULL) >> 32) * bound >> 32);
}

// How alpha moves and what the dual objective gains.
struct Step {
  float by = 0;
  float gain = 0;
  float gradient = 0;  // of the dual; squared hinge only
};

struct SquaredHingeStep {
  static constexpr bool kShrinks = true;
  float inverse_2c;

  Step operator()(const DualRow& row, float margin) const {
    const float gradient = margin - 1 + row.alpha * inverse_2c;
    const float curvature = row.square + inverse_2c;
    const float by = std::max(row.alpha - gradient / curvature, 0.0F) - row.alpha;
    return {by, -by * (gradient + 0.5F * curvature * by), gradient};
  }
};

struct LogisticStep {
  static constexpr bool kShrinks = false;
  float c;

  Step operator()(DualRow& row, float margin) const {
    const float qc = row.square * c;
    const float share = row.alpha / c;  // s(-anchor)
    const float offset = margin - row.anchor;
    const float bend = share * (1 - share);
    // Newton for u = m' - anchor, with s expanded around the anchor to third order; |u| < 0.1 leaves an error
    // below 1e-7, and no exponential is needed.
    float u = offset / (1 + qc * bend);
    if (row.alpha > 0 && std::abs(u) < 0.1F) {
      const float second = 0.5F * bend * (1 - 2 * share);
      const float third = bend * (1 - 6 * bend) / 6;
      float change = 0;
      for (int k = 0; k < 2; ++k) {
        change = u * (-bend + u * (second - u * third));
        const float slope = 1 + qc * (bend - u * (2 * second - 3 * u * third));
        u -= (u - offset - qc * change) / slope;
      }
      change = u * (-bend + u * (second - u * third));
      return finish(row, margin, row.anchor + u, c * change);
    }
    return far_step(row, margin, qc);
  }

  // Newton on h(m) = m - margin - q (c s(-m) - alpha), which rises, and is concave right of 0 and convex left
  // of it: from 0 the steps approach the root from one side. The root lies between the values of m that
  // alpha' = 0 and alpha' = c give.
  [[nodiscard]] Step far_step(DualRow& row, float margin, double qc) const {
    const double low = margin - row.square * row.alpha;
    double m = std::clamp(0.0, low, low + qc);
    double share = 0;
    for (int k = 0; k < 30; ++k) {
      const double e = glm::exp_of_nonpositive(-std::abs(m));
      const double inverse = 1 / (1 + e);
      share = (m >= 0 ? e : 1.0) * inverse;
      const double bend = e * inverse * inverse;
      const double by = -(m - low - qc * share) / (1 + qc * bend);
      m += by;
      if (std::abs(by) < 1e-3) {
        share -= bend * by;
        break;
      }
    }
    return finish(row, margin, static_cast<float>(m), static_cast<float>(c * share) - row.alpha);
  }

  // The slope of the dual along alpha falls from anchor - margin to 0.
  [[nodiscard]] Step finish(DualRow& row, float margin, float anchor, float by) const {
    const float gain = 0.5F * std::abs((row.anchor - margin) * by);
    row.anchor = anchor;
    return {by, gain};
  }
};

}  // namespace

DualDescent::DualDescent(const CompactRows& rows, const DualObjective& objective)
    : rows_(rows),
      objective_(objective),
      c_(static_cast<float>(1 / (static_cast<double>(rows.rows()) * objective.l2))),
      state_(rows.rows()),
      weights_(rows.columns()),
      order_(rows.rows()) {
  take_all_back();
  for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::uint32_t>(i);
  rows.in_single_precision([&](const auto& typed) {
    // s(-30) is as good as the 0 that alpha begins with.
    for (std::size_t i = 0; i < state_.size(); ++i)
      state_[i] = {0, 30, typed.squared_norm(i), static_cast<float>(objective.labels[i])};
  });
}

template <class Step>
double DualDescent::epoch(const Step& step) {
  for (std::size_t k = active_; k > 1; --k) std::swap(order_[k - 1], order_[below(k, random_)]);
  double gained = 0;
  float steepest = 0;  // largest size of a gradient along which a row moved
  rows_.in_single_precision([&](const auto& typed) {
    constexpr std::size_t kAhead = 5, kFarAhead = 12;
    for (std::size_t k = 0; k < active_; ++k) {
      if (k + kFarAhead < active_) {
        typed.prefetch_place(order_[k + kFarAhead]);
        __builtin_prefetch(&state_[order_[k + kFarAhead]]);
      }
      if (k + kAhead < active_) typed.prefetch(order_[k + kAhead]);
      const std::size_t i = order_[k];
      DualRow& row = state_[i];
      const auto [by, gain, gradient] = step(row, row.label * typed.dot(i, weights_.data()));
      gained += gain;
      if (by != 0) {
        row.alpha += by;
        typed.axpy(i, row.label * by, weights_.data());
        steepest = std::max(steepest, std::abs(gradient));
      }
      const bool idle = Step::kShrinks ? by == 0 && gradient > set_aside_at_ : gain < set_aside_at_;
      if (idle) std::swap(order_[k--], order_[--active_]);
    }
  });
  if (Step::kShrinks) set_aside_at_ = steepest;
  return gained;
}

void DualDescent::take_all_back() {
  active_ = order_.size();
  last_gain_ = 0;
  set_aside_at_ = objective_.task == glm::Task::kLogistic ? 0.0F : std::numeric_limits<float>::infinity();
}

bool DualDescent::descend(double target) {
  const bool logistic = objective_.task == glm::Task::kLogistic;
  while (epochs_ < kMostEpochs) {
    const bool all = active_ == order_.size();
    const double gain = logistic ? epoch(LogisticStep{c_}) : epoch(SquaredHingeStep{0.5F / c_});
    if (!std::isfinite(gain)) return false;
    // 0 when there is no epoch to compare with.
    const double trend = last_gain_ > 0 ? gain / last_gain_ : 0;
    last_gain_ = gain;
    gained_ += gain;
    ++epochs_;
    // Idle rows together must not matter to the target.
    if (logistic && epochs_ >= kTrialEpochs)
      set_aside_at_ = static_cast<float>(0.03 * target * gained_ / static_cast<double>(order_.size()));
    const double left = trend == 0 ? gain : trend < 1 ? gain * trend / (1 - trend) : INFINITY;
    if (epochs_ > 1 && left <= target * gained_) {
      if (all) return true;
      take_all_back();
    } else if (all && epochs_ >= kTrialEpochs && trend > kSlowTrend) {
      return false;
    }
  }
  return false;
}

}  // namespace parley::algorithms
