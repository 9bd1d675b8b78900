#include "parley/privacy/accounting/conversion.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "parley/privacy/accounting/numerics.h"

namespace parley::privacy::accounting {
namespace {

// Both conversions carry rounding of a few units in the last place of their largest term.
constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();

// ln(1 - 1/a) with t = a - 1: ln t - ln(1 + t), exact for orders close to 1 and for huge ones.
double log_one_minus_inverse(double t) {
  return t < 1 ? std::log(t) - std::log1p(t) : -std::log1p(1 / t);
}

double raw_epsilon(double t, double divergence, double delta) {
  const double shift = log_one_minus_inverse(t);
  const double spread = (std::log(delta) + std::log1p(t)) / t;
  const double value = divergence + shift - spread;
  return value + kRounding * (divergence + std::fabs(shift) + std::fabs(spread));
}

// ln delta.
double raw_log_delta(double t, double divergence, double epsilon) {
  const double shift = log_one_minus_inverse(t);
  const double value = t * (divergence - epsilon + shift) - std::log1p(t);
  return value + kRounding * (t * (divergence + epsilon + std::fabs(shift)) + std::log1p(t));
}

struct Best {
  double order_minus_one = 1;
  double value = kInfinity;
};

// Minimises objective(t, divergence(1 + t)) over the order grid. `floor_of(t, d)` bounds the objective from
// below for every divergence >= d: divergences do not decrease with the order, so whole stretches of the grid
// need no divergence at all.
template <class Objective>
Best search(const RenyiCurve& curve, const Objective& objective) {
  constexpr int kPerDecade = 40, kDecades = 8, kStride = 8;
  constexpr double kFirst = 1e-3;
  const int count = kPerDecade * kDecades + 1;
  const auto grid = [&](double i) { return kFirst * std::pow(10.0, i / kPerDecade); };

  Best best;
  int best_index = 0;
  std::vector<double> known(static_cast<std::size_t>(count), -1);
  const auto visit = [&](int i) {
    double least = 0;
    for (int j = i; j >= 0; --j)
      if (known[static_cast<std::size_t>(j)] >= 0) {
        least = known[static_cast<std::size_t>(j)];
        break;
      }
    const double t = grid(i);
    if (objective(t, least) >= best.value) return;
    const double divergence = curve(1 + t);
    known[static_cast<std::size_t>(i)] = divergence;
    const double value = objective(t, divergence);
    if (value < best.value) {
      best = {t, value};
      best_index = i;
    }
  };
  for (int i = 0; i < count; i += kStride) visit(i);
  for (int i = 0; i < count; ++i)
    if (i % kStride != 0) visit(i);
  if (std::isinf(best.value)) return best;

  const Minimum fine = golden_section(best_index - 1.0, best_index + 1.0, 20, [&](double i) {
    const double t = grid(i);
    return objective(t, curve(1 + t));
  });
  if (fine.value < best.value) best = {grid(fine.at), fine.value};
  return best;
}

template <class Objective>
double search_zcdp(double rho, const Objective& objective) {
  // ln(a - 1) over every scale at which either term of the objective can matter.
  const auto at = [&](double log_t) {
    const double t = std::exp(log_t);
    return objective(t, rho * (1 + t));
  };
  constexpr double kLow = -40, kHigh = 60, kStep = 0.5;
  double best = kInfinity, where = kLow;
  for (double x = kLow; x <= kHigh; x += kStep) {
    const double value = at(x);
    if (value < best) best = value, where = x;
  }
  return std::min(best, golden_section(where - kStep, where + kStep, 60, at).value);
}

double as_epsilon(double value) {
  return value <= 0 ? 0 : value * (1 + kSlack);
}

double as_delta(double log_delta) {
  return std::min(1.0, std::exp(log_delta) * (1 + kSlack));
}

}  // namespace

double epsilon_from_renyi(double order, double divergence, double delta) {
  return as_epsilon(raw_epsilon(order - 1, divergence, delta));
}

double delta_from_renyi(double order, double divergence, double epsilon) {
  return as_delta(raw_log_delta(order - 1, divergence, epsilon));
}

Converted epsilon_from_curve(const RenyiCurve& curve, double delta) {
  const Best best = search(curve, [&](double t, double divergence) { return raw_epsilon(t, divergence, delta); });
  return {as_epsilon(best.value), 1 + best.order_minus_one};
}

Converted delta_from_curve(const RenyiCurve& curve, double epsilon) {
  const Best best = search(curve, [&](double t, double divergence) { return raw_log_delta(t, divergence, epsilon); });
  return {as_delta(best.value), 1 + best.order_minus_one};
}

double epsilon_from_zcdp(double rho, double delta) {
  return as_epsilon(search_zcdp(rho, [&](double t, double d) { return raw_epsilon(t, d, delta); }));
}

double delta_from_zcdp(double rho, double epsilon) {
  return as_delta(search_zcdp(rho, [&](double t, double d) { return raw_log_delta(t, d, epsilon); }));
}

double zcdp_within(double epsilon, double delta) {
  // Bisection on ln rho; the classic conversion gives a rho that is always safe.
  const double log_inverse = -std::log(delta);
  const double root = epsilon / (std::sqrt(log_inverse + epsilon) + std::sqrt(log_inverse));
  double low = 2 * std::log(root), high = low;
  const auto safe = [&](double log_rho) { return delta_from_zcdp(std::exp(log_rho), epsilon) <= delta; };
  if (!safe(low)) low -= 1;
  do high += 1;
  while (safe(high) && high < 700);
  for (int i = 0; i < 60 && high - low > 1e-13; ++i) {
    const double middle = 0.5 * (low + high);
    (safe(middle) ? low : high) = middle;
  }
  // Room for the rounding of sums of rho and of the way back to epsilon.
  return std::exp(low) * (1 - 1e-10);
}

}  // namespace parley::privacy::accounting
