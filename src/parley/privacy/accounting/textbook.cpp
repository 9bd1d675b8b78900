#include "parley/privacy/accounting/textbook.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "parley/privacy/accounting/numerics.h"
#include "parley/privacy/accounting/pure_composition.h"

namespace parley::privacy::accounting::textbook {

double advanced_composition_epsilon(double e, std::int64_t count, double delta, double step_delta) {
  const auto k = static_cast<double>(count);
  const double rest = delta - k * step_delta;
  if (!(rest > 0)) return kInfinity;
  return e * std::sqrt(2 * k * std::log(1 / rest)) + k * e * std::expm1(e);
}

double kov_closed_form_epsilon(double e, std::int64_t count, double delta) {
  const auto k = static_cast<double>(count);
  const double drift = k * e * std::tanh(e / 2);
  const double spread = e * std::sqrt(2 * k * std::log(std::numbers::e + std::sqrt(k * e * e) / delta));
  const double plain = e * std::sqrt(2 * k * std::log(1 / delta));
  return std::min({k * e, drift + spread, drift + plain});
}

double kov_lattice_epsilon(double e, std::int64_t count, double delta) {
  // i from 0 to k/2; delta(i) grows with i, so bisect on i.
  std::int64_t safe = 0, unsafe = count / 2 + 1;
  while (unsafe - safe > 1) {
    const std::int64_t middle = safe + (unsafe - safe) / 2;
    const double epsilon = static_cast<double>(count - 2 * middle) * e;
    (optimal_pure_delta(e, count, epsilon) <= delta ? safe : unsafe) = middle;
  }
  return static_cast<double>(count - 2 * safe) * e;
}

double zcdp_epsilon(double rho, double delta) {
  return rho + 2 * std::sqrt(rho * std::log(1 / delta));
}

double zcdp_delta(double rho, double epsilon) {
  return epsilon <= rho ? 1 : std::exp(-(epsilon - rho) * (epsilon - rho) / (4 * rho));
}

double zcdp_rho(double epsilon, double delta) {
  const double log_inverse = std::log(1 / delta);
  const double root = epsilon / (std::sqrt(log_inverse + epsilon) + std::sqrt(log_inverse));
  return root * root;
}

double gaussian_sigma(double epsilon, double delta) {
  return std::sqrt(2 * std::log(1.25 / delta)) / epsilon;
}

double epsilon_per_step(double epsilon, double delta, std::int64_t steps) {
  return epsilon / (2 * std::sqrt(2 * static_cast<double>(steps) * std::log(1 / delta)));
}

double bounded_range_renyi(double epsilon, double order) {
  // The largest KL divergence of an e-bounded-range pair: x - 1 - ln x at x = e/(e^e - 1).
  const long double e = epsilon, x = e / std::expm1(e);
  const auto kl = static_cast<double>(-std::expm1(-e) > 1e-4L ? x - 1 - std::log(x) : e * e / 8 - e * e * e * e / 576);
  return std::min(epsilon, kl + (order - 1) * epsilon * epsilon / 8);
}

double amplified_epsilon(double epsilon, double sampling_rate) {
  return std::log1p(sampling_rate * std::expm1(epsilon));
}

}  // namespace parley::privacy::accounting::textbook
