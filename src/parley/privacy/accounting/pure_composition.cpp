#include "parley/privacy/accounting/pure_composition.h"

#include <algorithm>
#include <cmath>

#include "parley/privacy/accounting/numerics.h"

namespace parley::privacy::accounting {
namespace {

using Real = long double;

}  // namespace

double optimal_pure_delta(double step_epsilon, std::int64_t count, double epsilon) {
  // The walk below takes some ten thousand times sqrt(count / 1e8) steps: beyond this the other accountants answer.
  constexpr std::int64_t kMostSteps = 100'000'000;
  const Real e = step_epsilon, k = static_cast<Real>(count);
  if (epsilon >= static_cast<double>(k * e)) return 0;
  if (count > kMostSteps) return 1;
  const Real p = 1 / (1 + std::exp(-e));
  const Real log_odds = e;
  // Terms with (2l - k) e > epsilon count; their weights rise up to the mode and fall after it. Start at the
  // larger of the first term and the mode and walk both ways until the rest is negligible.
  const Real first = std::max(Real{0}, std::floor((epsilon / e + k) / 2) + 1);
  if (first > k) return 0;
  const Real mode = std::min(k, std::floor((k + 1) * p));
  const Real start = std::max(first, mode);
  const Real log_weight = std::lgamma(k + 1) - std::lgamma(start + 1) - std::lgamma(k - start + 1) -
                          start * std::log1p(std::exp(-e)) - (k - start) * (e + std::log1p(std::exp(-e)));
  constexpr Real kNegligible = 1e-22L;
  const Real odds = std::exp(std::min(log_odds, Real{11000}));
  const auto gain = [&](Real l) { return -std::expm1(epsilon - (2 * l - k) * e); };

  Real sum = 0, weight = 1;
  for (Real l = start; l <= k; ++l) {
    sum += weight * gain(l);
    const Real next = weight * (k - l) / (l + 1) * odds;
    // Past the mode successive ratios fall, so the rest is at most geometric.
    if (next < kNegligible && next < weight) {
      sum += next / (1 - next / weight);
      break;
    }
    weight = next;
  }
  weight = 1;
  for (Real l = start; l > first; --l) {
    const Real next = weight * l / (k - l + 1) / odds;
    sum += next * gain(l - 1);
    if (next < kNegligible && next < weight) {
      sum += next / (1 - next / weight);
      break;
    }
    weight = next;
  }
  // lgamma and the exponents are good to one unit in the last place of numbers of size k ln k + k e.
  const Real rounding = 4 * std::numeric_limits<Real>::epsilon() * (k + 2) * (std::log(k + 2) + e + 1);
  return static_cast<double>(std::min(Real{1}, sum * std::exp(log_weight + rounding) * (1 + kSlack)));
}

double optimal_pure_epsilon(double step_epsilon, std::int64_t count, double delta) {
  const double ceiling = step_epsilon * static_cast<double>(count) * (1 + kSlack);
  const auto safe = [&](double epsilon) { return optimal_pure_delta(step_epsilon, count, epsilon) <= delta; };
  if (safe(0)) return 0;
  double low = 0, high = ceiling;
  // The distribution's bulk ends long before the ceiling when there are many steps.
  for (double guess = ceiling; guess > 0 && safe(guess / 2); guess /= 2) high = guess / 2;
  if (high < ceiling) low = high / 2;
  for (int i = 0; i < 60 && high - low > 1e-13 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (safe(middle) ? high : low) = middle;
  }
  return std::min(ceiling, high);
}

bool MixedPure::few(std::span<const Steps> steps) {
  constexpr double kMost = 4096;
  double outcomes = 1;
  for (const Steps& each : steps) outcomes *= static_cast<double>(each.count) + 1;
  return outcomes <= kMost;
}

MixedPure::MixedPure(std::span<const Steps> steps) : outcomes_{{0, 1}} {
  for (const Steps& each : steps) {
    const Real e = each.epsilon, k = static_cast<Real>(each.count), log_up = -std::log1p(std::exp(-e)),
               log_down = log_up - e;
    std::vector<Outcome> next;
    for (Real up = 0; up <= k; ++up) {
      const Real weight = std::exp(std::lgamma(k + 1) - std::lgamma(up + 1) - std::lgamma(k - up + 1) + up * log_up +
                                   (k - up) * log_down);
      for (const Outcome& before : outcomes_) next.push_back({before.loss + (2 * up - k) * e, before.p * weight});
    }
    outcomes_ = std::move(next);
  }
  std::sort(outcomes_.begin(), outcomes_.end(), [](const Outcome& a, const Outcome& b) { return a.loss > b.loss; });
}

double MixedPure::delta(double epsilon) const {
  Real sum = 0;
  for (const Outcome& outcome : outcomes_) {
    if (outcome.loss <= epsilon) break;
    sum += outcome.p * -std::expm1(epsilon - outcome.loss);
  }
  return static_cast<double>(std::min(Real{1}, sum * (1 + kSlack)));
}

double MixedPure::epsilon(double delta) const {
  const double ceiling = static_cast<double>(outcomes_.front().loss) * (1 + kSlack);
  const auto safe = [&](double epsilon) { return this->delta(epsilon) <= delta; };
  return safe(0) ? 0 : smallest_safe(0, ceiling, safe) * (1 + kSlack);
}

}  // namespace parley::privacy::accounting
