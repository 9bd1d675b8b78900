#include "parley/privacy/accounting/sampled_gaussian.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "parley/privacy/accounting/numerics.h"

namespace parley::privacy::accounting {
namespace {

// ln(1 - q + q e^z) without losing small deviations from 0.
double log_mix(double rate, double z) {
  if (z > 30) return z + std::log(rate + (1 - rate) * std::exp(-z));
  return std::log1p(rate * std::expm1(z));
}

double exponent(double x, double sigma) {
  return (2 * x - 1) / (2 * sigma * sigma);
}

// (1+u)^a - 1 - a u, which Bernoulli's inequality makes nonnegative, from u and w = ln(1+u).
double bernoulli_excess(double order, double u, double w) {
  if (std::fabs(order * u) < 1e-3 || (order < 2.5 && std::fabs(u) < 0.02)) {
    double term = 0.5 * order * (order - 1) * u * u, sum = term;
    for (int n = 3; n < 11; ++n) {
      term *= (order - n + 1) / n * u;
      sum += term;
    }
    return sum;
  }
  return std::expm1(order * w) - order * u;
}

}  // namespace

double SampledGaussian::loss(double x) const {
  const double up = log_mix(rate, exponent(x, sigma));
  return neighbours == Neighbours::kAddRemove ? up : up - log_mix(rate, exponent(-x, sigma));
}

double SampledGaussian::smallest_loss() const {
  return neighbours == Neighbours::kAddRemove ? std::log1p(-rate) : -kInfinity;
}

double SampledGaussian::at_loss(double l) const {
  const double variance = sigma * sigma;
  if (neighbours == Neighbours::kAddRemove) {
    if (l > 30) return variance * (l + std::log1p(-(1 - rate) * std::exp(-l)) - std::log(rate)) + 0.5;
    const double excess = std::expm1(l) + rate;
    return excess > 0 ? variance * std::log(excess / rate) + 0.5 : -kInfinity;
  }
  // With y = e^(x/s^2) and c = q e^(-1/(2 s^2)):  c y^2 + (1-q)(1-e^l) y - c e^l = 0.
  const double log_c = std::log(rate) - 1 / (2 * variance);
  const double half = l / 2;
  const double magnitude = std::fabs(half);
  // asinh((1-q) sinh(|l|/2)/c), by logarithms where the argument overflows.
  const double log_argument =
      std::log1p(-rate) - log_c + (magnitude > 20 ? magnitude - std::numbers::ln2 : std::log(std::sinh(magnitude)));
  const double arc = rate == 1           ? 0
                     : log_argument > 20 ? log_argument + std::numbers::ln2
                                         : std::asinh(std::exp(log_argument));
  return std::copysign(variance * (magnitude + arc), l);
}

double SampledGaussian::log_density(double x) const {
  const double z = x / sigma;
  return -0.5 * z * z - std::log(sigma * std::sqrt(2 * std::numbers::pi)) + log_mix(rate, exponent(x, sigma));
}

long double SampledGaussian::p_above(double x) const {
  const long double s = sigma;
  return (1 - static_cast<long double>(rate)) * normal_tail(x / s) + rate * normal_tail((x - 1.0L) / s);
}

long double SampledGaussian::q_above(double x) const {
  const long double s = sigma;
  if (neighbours == Neighbours::kAddRemove) return normal_tail(x / s);
  return (1 - static_cast<long double>(rate)) * normal_tail(x / s) + rate * normal_tail((x + 1.0L) / s);
}

long double SampledGaussian::p_below(double x) const {
  const long double s = sigma;
  return (1 - static_cast<long double>(rate)) * normal_tail(-x / s) + rate * normal_tail((1.0L - x) / s);
}

long double SampledGaussian::q_below(double x) const {
  const long double s = sigma;
  if (neighbours == Neighbours::kAddRemove) return normal_tail(-x / s);
  return (1 - static_cast<long double>(rate)) * normal_tail(-x / s) + rate * normal_tail((-1.0L - x) / s);
}

// With u = P/Q - 1 (mean 0 under Q), E_Q[(P/Q)^a] - 1 = E_Q[(1+u)^a - 1 - a u]: a sum of nonnegative terms,
// so a divergence of 1e-12 keeps its digits. The integrand is analytic in the strip |Im x| < pi s^2, where
// the trapezoidal rule converges like exp(-2 pi (pi s^2)/step), and like exp(-2 pi^2 s^2/step^2) for the
// Gaussian.
double renyi_sampled_gaussian(const SampledGaussian& pair, double order) {
  const double s = pair.sigma, q = pair.rate, variance = s * s;
  const bool replace = pair.neighbours == Neighbours::kReplaceOne;
  // Without sampling. With it never more: divergences of mixtures with equal weights are at most the parts' largest.
  const double unsampled = order * (replace ? 4 : 1) / (2 * variance) * (1 + kSlack);
  if (q == 1 || !std::isnormal(variance) || order * s > 1e15) return unsampled;

  const double step = std::min(s / 1.6, 0.45 * variance);
  const double scale = std::log(step / (s * std::sqrt(2 * std::numbers::pi)));
  const double c = q * std::exp(-1 / (2 * variance));

  double top = -kInfinity, sum = 0;  // sum of exp(term - top)
  const auto add = [&](double term) {
    if (term <= top) {
      sum += std::exp(term - top);
    } else {
      sum = sum * std::exp(top - term) + 1;
      top = term;
    }
  };
  const auto visit = [&](double x) {
    const double gauss = scale - 0.5 * x * x / variance;
    const double up = exponent(x, s);
    double u, w, base = gauss;
    if (replace) {
      const double down = log_mix(q, exponent(-x, s));
      base += down;
      w = log_mix(q, up) - down;
      u = std::fabs(x) > 30 * variance ? std::expm1(w) : 2 * c * std::sinh(x / variance) * std::exp(-down);
    } else {
      w = log_mix(q, up);
      u = up > 30 ? std::expm1(w) : q * std::expm1(up);
    }
    if (order * w > 40) {
      // a u is below e^w a, negligible beside e^(a w) unless a is close to 1: keep it then.
      const double rest = order * u * std::exp(-order * w);
      add(base + order * w + (rest < 0.5 ? std::log1p(-rest) : 0.0));
    } else {
      const double excess = bernoulli_excess(order, u, w);
      if (excess > 0) add(base + std::log(excess));
    }
  };

  // The integrand lives near 0, near the order a, and between them where the two peaks overlap. Replace-one with a rate
  // above 1/2: left of x = s^2 ln(q/(1-q)) - 1/2 Q is mostly N_{-1} and the peak is that of N_1^a N_{-1}^(1-a), at 2a -
  // 1.
  constexpr double kReach = 9.5, kMostPoints = 20000;
  const double reach = kReach * s + 1;
  const double last_peak =
      replace && q > 0.5 ? std::clamp(variance * std::log(q / (1 - q)) - 0.5, order, 2 * order - 1) : order;
  const bool apart = order > 60 * variance + 2 * reach;
  const double swept = apart ? 4 * reach + (last_peak - order) : last_peak + 2 * reach;
  if (!(swept / step < kMostPoints)) return unsampled;
  const auto sweep = [&](double low, double high) {
    const auto first = static_cast<long long>(std::ceil(low / step)),
               last = static_cast<long long>(std::floor(high / step));
    for (long long i = first; i <= last; ++i) visit(static_cast<double>(i) * step);
  };
  if (apart) {
    sweep(-reach, reach);
    sweep(order - reach, last_peak + reach);
  } else {
    sweep(-reach, last_peak + reach);
  }
  // Every term below the smallest double: so is the moment, and this is not.
  if (sum == 0) return std::min(unsampled, 1e-280);
  const double log_excess = top + std::log(sum);
  const double log_moment = log_excess > 36 ? log_excess : std::log1p(std::exp(log_excess));
  return std::min(unsampled, log_moment / (order - 1) * (1 + 1e-11));
}

}  // namespace parley::privacy::accounting
