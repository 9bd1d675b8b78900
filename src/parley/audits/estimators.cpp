#include "parley/audits/estimators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "parley/privacy/accounting/profile.h"

namespace parley::audits {

namespace {

constexpr int kHalvings = 200;

// The largest x in [low, high] for which `holds` does; it holds below some point and not above it.
template <class Holds>
double largest(double low, double high, const Holds& holds) {
  for (int k = 0; k < kHalvings; ++k) {
    const double middle = low + 0.5 * (high - low);
    if (middle <= low || middle >= high) break;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

// The regularised incomplete beta function by its continued fraction (Lentz's algorithm), for x below the mean.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away(1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m < 100'000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    value *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    value *= d * c;
    if (std::abs(d * c - 1) < 1e-16) break;
  }
  return value;
}

double beta_below(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

struct Errors {
  double misses = 1;  // upper bounds
  double alarms = 1;
};

Errors errors_at_most(const Counts& counts, Significance significance) {
  const Significance half{significance.value / 2};
  return {share_at_most(counts.in - counts.true_positives, counts.in, half),
          share_at_most(counts.false_positives, counts.out, half)};
}

// f(v) for v = 0 .. k + 1, as a running sum of the binomial's masses from above.
std::vector<double> at_least(std::int64_t trials, double p) {
  std::vector<double> tail(static_cast<std::size_t>(trials) + 2, 0.0);
  const double n = static_cast<double>(trials), log_p = std::log(p), log_q = std::log1p(-p);
  for (std::int64_t v = trials; v >= 0; --v) {
    const auto k = static_cast<double>(v);
    const double mass = std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * log_p +
                                 (v == trials ? 0 : (n - k) * log_q));
    tail[static_cast<std::size_t>(v)] = std::min(1.0, tail[static_cast<std::size_t>(v) + 1] + mass);
  }
  return tail;
}

constexpr double kMostEpsilon = 60, kMostMu = 40;

}  // namespace

double normal_below(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

double normal_quantile(double p) {
  if (!(p > 0)) return -kMostMu;
  if (p >= 1) return kMostMu;
  // In the half where Phi keeps its digits.
  return p <= 0.5 ? largest(-kMostMu, 0, [&](double x) { return normal_below(x) <= p; })
                  : -largest(-kMostMu, 0, [&](double x) { return normal_below(x) <= 1 - p; });
}

double epsilon_of_mu(double mu, double delta) {
  return mu > 1e-9 ? privacy::accounting::gaussian_epsilon(mu, delta) : 0;
}

double mu_of_epsilon(double epsilon, double delta) {
  return largest(0, kMostMu, [&](double mu) { return epsilon_of_mu(mu, delta) <= epsilon; });
}

double share_at_most(std::int64_t successes, std::int64_t trials, Significance significance) {
  if (trials < 1 || successes >= trials) return 1;
  const auto a = static_cast<double>(successes + 1), b = static_cast<double>(trials - successes);
  // Above its mean the function is 1 minus what is small: its complement is what keeps the digits.
  return 1 - largest(0, 1, [&](double q) { return beta_below(b, a, q) <= significance.value; });
}

double clopper_pearson_epsilon(const Counts& counts, double delta, Significance significance) {
  const Errors at_most = errors_at_most(counts, significance);
  const double hits = 1 - at_most.misses - delta;
  return hits > 0 ? std::max(0.0, std::log(hits / at_most.alarms)) : 0;
}

double gaussian_epsilon(const Counts& counts, double delta, Significance significance) {
  const Errors at_most = errors_at_most(counts, significance);
  // Phi^-1(1 - a) = -Phi^-1(a), which keeps the digits of a small a.
  return epsilon_of_mu(-normal_quantile(at_most.alarms) - normal_quantile(at_most.misses), delta);
}

double one_run_epsilon(const Guesses& guesses, double delta, Significance significance) {
  if (guesses.guessed < 1) return 0;
  const auto right = static_cast<std::size_t>(guesses.right);
  const auto refuted = [&](double epsilon) {
    const std::vector<double> f = at_least(guesses.guessed, 1 / (1 + std::exp(-epsilon)));
    double steepest = 0;
    for (std::size_t i = 1; i <= right && delta > 0; ++i)
      steepest = std::max(steepest, (f[right - i] - f[right]) / static_cast<double>(i));
    return f[right] + 2 * static_cast<double>(guesses.canaries) * delta * steepest <= significance.value;
  };
  return refuted(0) ? largest(0, kMostEpsilon, refuted) : 0;
}

// Algorithm 3: r and h bound the shares of canaries on which the guesses are right and wrong, from v right ones down to
// none.
double one_run_gaussian_epsilon(const Guesses& guesses, double delta, Significance significance) {
  if (guesses.guessed < 1 || guesses.right < 1) return 0;
  const auto all = static_cast<double>(guesses.canaries), guessed = static_cast<double>(guesses.guessed);
  const auto right = static_cast<double>(guesses.right);
  const auto refuted = [&](double mu) {
    double r = significance.value * right / all, h = significance.value * (guessed - right) / all;
    for (std::int64_t i = guesses.right - 1; i >= 0; --i) {
      const double next = r >= 1 ? 1 : std::max(h, normal_below(normal_quantile(r) - mu));
      const double left = guessed - static_cast<double>(i);
      r += static_cast<double>(i) / left * (next - h);
      h = next;
    }
    return r + h > guessed / all;
  };
  if (!refuted(0)) return 0;
  double mu = 0, above = kMostMu;  // a step has as many quantiles as guesses were right: as many digits as are shown
  for (int k = 0; k < 40; ++k) {
    const double middle = 0.5 * (mu + above);
    (refuted(middle) ? mu : above) = middle;
  }
  return epsilon_of_mu(mu, delta);
}

}  // namespace parley::audits
