#include "parley/privacy/accounting/loss_aim.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "parley/privacy/accounting/numerics.h"

namespace parley::privacy::accounting {

LossAim::Cumulants LossAim::cumulants(double tilt) const {
  Cumulants total;
  const double slope = direction_ * (tilt + 0.5);
  for (const Law& law : laws_) {
    const LossNodes& nodes = law.nodes;
    const double count = law.count;
    const std::size_t size = nodes.loss.size();
    double top = -kInfinity;
    for (std::size_t i = 0; i < size; ++i) top = std::max(top, nodes.log_s[i] + slope * nodes.loss[i]);
    const auto each = [&](const auto& visit) {
      for (std::size_t i = 0; i < size; ++i) {
        const double exponent = nodes.log_s[i] + slope * nodes.loss[i] - top;
        if (exponent > -45) visit(std::exp(exponent), nodes.loss[i]);
      }
    };
    double sum = 0, first = 0, second = 0;
    each([&](double w, double l) { sum += w, first += w * l, second += w * l * l; });
    const double mean = first / sum;
    double spread = second / sum - mean * mean;
    if (spread < 1e-8 * mean * mean) {  // cancellation: centre first
      spread = 0;
      each([&](double w, double l) { spread += w / sum * (l - mean) * (l - mean); });
    }
    total.log_moment += count * (top + std::log(sum));
    total.mean += count * direction_ * mean;
    total.variance += count * spread;
  }
  return total;
}

namespace {
// Tilts beyond this many inverse standard deviations change nothing any more.
constexpr double kSteepest = 80;
}  // namespace

// The tilt whose mean is epsilon; 0 when epsilon lies below the mean.
double LossAim::tilt_for_epsilon(double epsilon) const {
  const Cumulants plain = cumulants(0);
  if (plain.mean >= epsilon) return 0;
  double low = 0, high = kSteepest / std::sqrt(plain.variance);
  if (cumulants(high).mean <= epsilon) return high;
  double t = std::min(high, (epsilon - plain.mean) / plain.variance);
  for (int i = 0; i < 60; ++i) {
    const Cumulants c = cumulants(t);
    const double gap = c.mean - epsilon;
    if (std::fabs(gap) < 0.02 * std::sqrt(c.variance)) return t;
    (gap > 0 ? high : low) = t;
    double next = t - gap / c.variance;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (high - low < 1e-6 * high) break;
    t = next;
  }
  return t;
}

// The tilt t at which the saddle-point estimate exp(K(t) - t K'(t))/(t (1+t) sqrt(2 pi K''(t))) of delta at
// epsilon = K'(t) is the delta asked for.
double LossAim::tilt_for_delta(double delta) const {
  const double scale = 1 / std::sqrt(cumulants(0).variance);
  const double target = std::log(delta);
  const auto excess = [&](double log_t) {
    const double t = std::exp(log_t);
    const Cumulants c = cumulants(t);
    return c.log_moment - t * c.mean - std::log(t) - std::log1p(t) -
           0.5 * std::log(2 * std::numbers::pi * std::max(c.variance, 1e-300)) - target;
  };
  double low = std::log(1e-4 * scale), high = std::log(kSteepest * scale);
  double at_low = excess(low), at_high = excess(high);
  if (at_low <= 0) return std::exp(low);
  if (at_high >= 0) return std::exp(high);
  for (int i = 0; i < 40 && high - low > 1e-3; ++i) {
    // Illinois steps, with a bisection now and then.
    double middle = i % 3 == 2 ? 0.5 * (low + high) : low + (high - low) * at_low / (at_low - at_high);
    const double value = excess(middle);
    if (std::fabs(value) < 0.02) return std::exp(middle);
    if (value > 0) {
      low = middle, at_low = value, at_high *= 0.5;
    } else {
      high = middle, at_high = value, at_low *= 0.5;
    }
  }
  return std::exp(0.5 * (low + high));
}

// With the tilted sum taken as normal, mean m and deviation s: E_tilted[e^(-t(L-eps)) (1 - e^(eps-L))_+] is a
// difference of two scaled normal tails.
double LossAim::estimate(double tilt, double epsilon) const {
  const Cumulants c = cumulants(tilt);
  const long double s = std::sqrt(c.variance), gap = (epsilon - c.mean) / s;
  const auto tail = [&](long double t) {  // E[e^(-t (L - epsilon)); L > epsilon]
    const long double x = gap + t * s;
    // e^(t s gap + t^2 s^2/2) tail(x) = phi(gap) mills(x)
    if (x > 50) return std::exp(-gap * gap / 2) / std::sqrt(2 * std::numbers::pi_v<long double>) / (x + 1 / x);
    return std::exp(t * s * gap + t * t * s * s / 2) * normal_tail(x);
  };
  const long double part = tail(tilt) - tail(tilt + 1);
  return c.log_moment - tilt * epsilon + static_cast<double>(std::log(std::max(part, 1e-30L)));
}

}  // namespace parley::privacy::accounting
