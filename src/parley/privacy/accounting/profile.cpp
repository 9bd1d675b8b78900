#include "parley/privacy/accounting/profile.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "parley/privacy/accounting/conversion.h"
#include "parley/privacy/accounting/numerics.h"
#include "parley/privacy/accounting/sampled_gaussian.h"

namespace parley::privacy::accounting {
namespace {

using Real = long double;

double upward(Real delta) {
  return std::clamp(static_cast<double>(delta) * (1 + kSlack), 0.0, 1.0);
}

// reach - covered: for steps of almost no cost the two agree to many digits, and what is left of the difference is
// widened by what rounding may have taken. Each is good to a few units in the last place; a normal tail beyond x to x^2
// units more, since a relative error of x is one of x^2 of the tail.
Real difference(Real reach, Real covered, Real x = 0) {
  return reach - covered + (8 + 2 * x * x) * std::numeric_limits<Real>::epsilon() * (reach + covered);
}

Real laplace_delta(Real e, Real epsilon) {
  return epsilon < e ? -std::expm1((epsilon - e) / 2) : 0;
}

Real bounded_range_delta(Real e, Real epsilon) {
  if (epsilon >= e) return 0;
  const Real gap = -std::expm1((epsilon - e) / 2);
  return gap * gap / -std::expm1(-e);
}

Real pure_delta(Real e, Real epsilon) {
  return epsilon < e ? -std::expm1(epsilon - e) / (1 + std::exp(-e)) : 0;
}

// P(X > x*) - e^epsilon Q(X > x*) with x* where the loss is epsilon; the other direction mirrored.
Real sampled_delta(const SampledGaussian& pair, double epsilon) {
  const double above = pair.at_loss(epsilon);
  const Real growth = std::exp(static_cast<Real>(epsilon));
  const Real forward =
      difference(pair.p_above(above), growth * pair.q_above(above), (std::fabs(above) + 1) / pair.sigma);
  if (pair.neighbours == Neighbours::kReplaceOne || -epsilon <= pair.smallest_loss()) return forward;
  const double below = pair.at_loss(-epsilon);
  return std::max(forward,
                  difference(pair.q_below(below), growth * pair.p_below(below), (std::fabs(below) + 1) / pair.sigma));
}

// The loss at x is Delta (Delta - 2x)/(2 sigma^2) for P around 0 and Q around Delta, so the best event is x <
// cut. All terms are nonnegative; they are added from the cut downwards until the rest of the Gaussian is
// negligible.
Real discrete_gaussian_delta(const DiscreteGaussian& m, double epsilon) {
  const Real distance = std::ceil(m.sensitivity), sigma = m.sigma, variance = sigma * sigma;
  const Real growth = std::exp(static_cast<Real>(epsilon));
  const auto weight = [&](Real x) { return std::exp(-x * x / (2 * variance)); };
  Real normaliser = 1;
  if (sigma >= 1) {  // Poisson summation
    normaliser = sigma * std::sqrt(2 * std::numbers::pi_v<Real>) *
                 (1 + 2 * std::exp(-2 * std::numbers::pi_v<Real> * std::numbers::pi_v<Real> * variance));
  } else {
    for (Real x = 1; x <= 40; ++x) normaliser += 2 * weight(x);
  }
  const Real last = std::ceil(distance / 2 - epsilon * variance / distance) - 1;
  Real inside = 0;
  for (Real x = std::min(last, std::ceil(110 * sigma));; --x) {
    const Real near = weight(x);
    inside += difference(near, growth * weight(x - distance));
    if (x < -sigma && near < 1e-24L * inside) break;
    if (x < -110 * sigma) break;
  }
  return inside / normaliser;
}

// P around 0, Q around Delta (both in grains): the best event is x <= m, m the last x with loss above
// epsilon.
Real discrete_laplace_delta(const DiscreteLaplace& m, double epsilon) {
  const Real distance = std::ceil(m.sensitivity), scale = m.scale;
  if (epsilon >= distance / scale) return 0;
  const Real g = std::exp(-1 / scale);
  const Real last = std::max(Real{0}, std::ceil((distance - epsilon * scale) / 2) - 1);
  const Real near = 1 - std::exp(-(last + 1) / scale) / (1 + g);
  const Real far = std::exp((last - distance) / scale) / (1 + g);
  return difference(near, std::exp(static_cast<Real>(epsilon)) * far);
}

}  // namespace

double gaussian_delta(double mu, double epsilon) {
  const Real low = static_cast<Real>(epsilon) / mu - static_cast<Real>(mu) / 2;
  const Real high = static_cast<Real>(epsilon) / mu + static_cast<Real>(mu) / 2;
  const Real reach = normal_tail(low);
  // Beyond exp's range the subtracted term is dropped: larger, hence still valid.
  const Real covered = epsilon < 11000 ? std::exp(static_cast<Real>(epsilon)) * normal_tail(high) : Real{0};
  return upward(difference(reach, covered, high));
}

double gaussian_epsilon(double mu, double delta) {
  if (gaussian_delta(mu, 0) <= delta) return 0;
  double high = std::max(mu, 1e-300);
  while (gaussian_delta(mu, high) > delta) high *= 2;
  return smallest_safe(high == std::max(mu, 1e-300) ? 0 : high / 2, high,
                       [&](double epsilon) { return gaussian_delta(mu, epsilon) <= delta; });
}

double gaussian_mu_within(double epsilon, double delta) {
  const auto too_large = [&](double mu) { return gaussian_delta(mu, epsilon) > delta; };
  double high = 1;
  while (!too_large(high)) high *= 2;
  double low = high / 2;
  while (too_large(low)) low /= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = low + 0.5 * (high - low);
    if (middle <= low || middle >= high) break;
    (too_large(middle) ? high : low) = middle;
  }
  return low;
}

double discrete_gaussian_distance(double sigma) {
  const double variance = sigma * sigma;
  return ((1 + 1 / (8 * variance)) / (24 * variance) +
          4 * std::exp(-2 * std::numbers::pi * std::numbers::pi * variance)) *
         (1 + kSlack);
}

double step_delta(const Mechanism& mechanism, Neighbours neighbours, double epsilon) {
  return std::visit(
      [&]<class M>(const M& m) -> double {
        if constexpr (std::is_same_v<M, Gaussian>) {
          return gaussian_delta(m.sensitivity / m.sigma, epsilon);
        } else if constexpr (std::is_same_v<M, Laplace>) {
          const double e = m.sensitivity / m.scale;
          return upward(m.dimensions == 1 ? laplace_delta(e, epsilon) : pure_delta(e, epsilon));
        } else if constexpr (std::is_same_v<M, DiscreteGaussian>) {
          const double mu = m.sensitivity / m.sigma;
          if (m.dimensions == 1 && m.sigma <= 1000 && mu < 1e3 && epsilon < 700)
            return upward(discrete_gaussian_delta(m, epsilon));
          const double converted = delta_from_zcdp(mu * mu / 2, epsilon);
          if (m.sigma < 1 || epsilon > 700) return converted;
          const double distance = discrete_gaussian_distance(m.sigma) * static_cast<double>(m.dimensions);
          return std::min(converted, upward(gaussian_delta(mu, epsilon) + distance * (1 + std::exp(epsilon))));
        } else if constexpr (std::is_same_v<M, DiscreteLaplace>) {
          const double e = m.sensitivity / m.scale;
          if (m.dimensions != 1 || m.sensitivity != std::floor(m.sensitivity)) return upward(pure_delta(e, epsilon));
          return upward(std::min<Real>(discrete_laplace_delta(m, epsilon), pure_delta(e, epsilon)));
        } else if constexpr (std::is_same_v<M, Exponential>) {
          return upward(bounded_range_delta(m.epsilon, epsilon));
        } else if constexpr (std::is_same_v<M, Pure>) {
          return upward(pure_delta(m.epsilon, epsilon));
        } else if constexpr (std::is_same_v<M, ApproxDp>) {
          return upward(m.delta + (1 - m.delta) * pure_delta(m.epsilon, epsilon));
        } else if constexpr (std::is_same_v<M, Zcdp>) {
          return delta_from_zcdp(m.rho, epsilon);
        } else if constexpr (std::is_same_v<M, SubsampledGaussian>) {
          if (m.sampling_rate == 1 || epsilon > 11000)  // sampling only helps
            return gaussian_delta((neighbours == Neighbours::kAddRemove ? 1 : 2) / m.noise_multiplier, epsilon);
          return upward(sampled_delta({m.noise_multiplier, m.sampling_rate, neighbours}, epsilon));
        } else {
          return 1;
        }
      },
      mechanism);
}

double step_epsilon(const Mechanism& mechanism, Neighbours neighbours, double delta) {
  const auto safe = [&](double epsilon) { return step_delta(mechanism, neighbours, epsilon) <= delta; };
  if (safe(0)) return 0;
  double high = 1e-6;
  while (!safe(high)) {
    high *= 2;
    if (high > 1e300) return kInfinity;
  }
  return smallest_safe(high == 1e-6 ? 0 : high / 2, high, safe);
}

}  // namespace parley::privacy::accounting
