#include "tests/privacy/mechanisms/statistics.h"

#include <algorithm>
#include <cmath>

namespace parley::privacy::statistics {

namespace {

// The regularised incomplete beta function I_x(a, b) by its continued fraction (Abramowitz-Stegun 26.5.8,
// modified Lentz).
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double value = d;
  for (int m = 1; m < 10000; ++m) {
    for (const double numerator : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                                   -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 + numerator * d;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = 1 + numerator / c;
      if (std::abs(c) < kTiny) c = kTiny;
      value *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-14) break;
  }
  return value;
}

double incomplete_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(1 - x, b, a) / b;
}

template <class Tail>
double solve(const Tail& tail, double level) {
  double low = 0, high = 1;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (tail(middle) < level ? low : high) = middle;
  }
  return low;
}

}  // namespace

double binomial_at_least(double k, double trials, double p) {
  return k <= 0 ? 1 : k > trials ? 0 : incomplete_beta(p, k, trials - k + 1);
}

double binomial_at_most(double k, double trials, double p) {
  return k >= trials ? 1 : k < 0 ? 0 : incomplete_beta(1 - p, trials - k, k + 1);
}

double clopper_pearson_lower(double successes, double trials, double level) {
  return successes <= 0 ? 0 : solve([&](double p) { return binomial_at_least(successes, trials, p); }, level);
}

double clopper_pearson_upper(double successes, double trials, double level) {
  return 1 - clopper_pearson_lower(trials - successes, trials, level);
}

double p_value(std::span<const double> counts, std::span<const double> probabilities, double draws) {
  double worst = 1, listed = 0, listed_count = 0;
  const auto look = [&](double count, double probability) {
    const double p = std::clamp(probability, 0.0, 1.0);
    worst = std::min({worst, binomial_at_least(count, draws, p), binomial_at_most(count, draws, p)});
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    look(counts[i], probabilities[i]);
    listed += probabilities[i];
    listed_count += counts[i];
  }
  // The probabilities of the listed cells carry their own rounding; it must not turn into an alarm here.
  const double rest = std::max(0.0, 1 - listed);
  if (listed_count < draws || rest > 1e-12) look(draws - listed_count, std::max(rest, 1e-15));
  return std::min(1.0, 2 * static_cast<double>(counts.size() + 1) * worst);
}

double epsilon_lower_bound(double here, double there, double trials, double level) {
  const double above = clopper_pearson_lower(here, trials, level / 2);
  const double below = clopper_pearson_upper(there, trials, level / 2);
  return above > below ? std::log(above / below) : 0;
}

}  // namespace parley::privacy::statistics
