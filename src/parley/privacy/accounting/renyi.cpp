#include "parley/privacy/accounting/renyi.h"

#include <algorithm>
#include <cmath>

#include "parley/privacy/accounting/numerics.h"
#include "parley/privacy/accounting/sampled_gaussian.h"

namespace parley::privacy::accounting {
namespace {

using Real = long double;

double square(double x) {
  return x * x;
}

// ln(weight e^up + (1 - weight) e^(-down))/t without losing the small excess over 1.
double log_mean(Real weight, Real up, Real down, Real t) {
  if (up > 60) return static_cast<double>((up + std::log(weight + (1 - weight) * std::exp(-up - down))) / t);
  return static_cast<double>(std::log1p(weight * std::expm1(up) + (1 - weight) * std::expm1(-down)) / t);
}

// Sum over the integers of P^a Q^(1-a) for P, Q discrete Laplace around 0 and Delta: with g = exp(-1/scale),
// r = g^(2a-1), it equals c e^((a-1)e) + (1-c) e^(-ae), c = (1 + (1-g) r/(1-r))/(1+g). The logarithm is
// convex in Delta and 0 at 0, hence superadditive: a vector of l1-distance Delta costs at most this.
double renyi_discrete_laplace(const DiscreteLaplace& m, double order) {
  const Real e = static_cast<Real>(std::ceil(m.sensitivity)) / m.scale;
  const Real a = order;
  const Real decay = 1 / static_cast<Real>(m.scale);
  const Real g = std::exp(-decay);
  const Real r = std::exp(-(2 * a - 1) * decay);
  const Real c = (1 + std::expm1(-decay) / std::expm1(-(2 * a - 1) * decay) * r) / (1 + g);
  return std::min(renyi_pure(static_cast<double>(e), order), log_mean(c, (a - 1) * e, a * e, a - 1));
}

}  // namespace

double renyi_laplace(double epsilon, double order) {
  const Real a = order;
  return log_mean(a / (2 * a - 1), (a - 1) * epsilon, a * epsilon, a - 1);
}

double renyi_pure(double epsilon, double order) {
  const Real t = static_cast<Real>(order) - 1;
  return log_mean(1 / (1 + std::exp(-static_cast<Real>(epsilon))), t * epsilon, t * epsilon, t);
}

// The worst e-bounded-range pair has two losses, u and u - e, with P(u) = (e^e - e^u)/(e^e - 1)
// (Dong, Durfee, Rogers 2020, Lemma 3.2). With x = exp(-(a-1)e), B = (1-x)/(e^e-1), A = e^e B + x, y = e^u,
//   D_a = ln y + ln(A - B y)/(a-1),  largest at y = A(a-1)/(B a) clipped to [1, e^e].
double renyi_bounded_range(double epsilon, double order) {
  if (epsilon > 1000) return std::min(epsilon, order * square(epsilon) / 8);
  const Real e = epsilon, t = static_cast<Real>(order) - 1;
  const Real x = std::exp(-t * e);
  const Real one_minus_x = -std::expm1(-t * e);
  // B = (1-x)/(e^e-1) written with e^(-e): no overflow for large e. Scaled by e^e where that is harmless:
  // A = (1-x)/(1-e^(-e)) + x, B y = (1-x) e^(-e) y/(1-e^(-e)).
  const Real survival = -std::expm1(-e);
  const Real a_term = one_minus_x / survival + x;
  const Real log_peak = std::log(a_term * survival / one_minus_x * (t / (t + 1))) + e;
  const Real u = std::clamp(log_peak, Real{0}, e);
  // A - B y - 1 is small when e is: A - 1 = (1-x)(1/survival - 1) = (1-x) e^(-e)/survival.
  const Real excess = one_minus_x * std::exp(-e) / survival * (-std::expm1(u));
  const Real divergence = u + std::log1p(excess) / t;
  return std::min(static_cast<double>(divergence), std::min(epsilon, order * square(epsilon) / 8));
}

double pure_epsilon(const Mechanism& mechanism) {
  return std::visit(
      []<class M>(const M& m) -> double {
        if constexpr (std::is_same_v<M, Laplace> || std::is_same_v<M, DiscreteLaplace>) {
          return m.sensitivity / m.scale;
        } else if constexpr (std::is_same_v<M, Exponential> || std::is_same_v<M, Pure>) {
          return m.epsilon;
        } else {
          return kInfinity;
        }
      },
      mechanism);
}

double renyi(const Mechanism& mechanism, Neighbours neighbours, double order) {
  const double value = std::visit(
      [&]<class M>(const M& m) -> double {
        if constexpr (std::is_same_v<M, Gaussian> || std::is_same_v<M, DiscreteGaussian>) {
          return order * square(m.sensitivity / m.sigma) / 2;
        } else if constexpr (std::is_same_v<M, Laplace>) {
          return renyi_laplace(m.sensitivity / m.scale, order);
        } else if constexpr (std::is_same_v<M, DiscreteLaplace>) {
          return renyi_discrete_laplace(m, order);
        } else if constexpr (std::is_same_v<M, Exponential>) {
          return renyi_bounded_range(m.epsilon, order);
        } else if constexpr (std::is_same_v<M, Pure> || std::is_same_v<M, ApproxDp>) {
          return renyi_pure(m.epsilon, order);
        } else if constexpr (std::is_same_v<M, Zcdp>) {
          return order * m.rho;
        } else if constexpr (std::is_same_v<M, SubsampledGaussian>) {
          return renyi_sampled_gaussian({m.noise_multiplier, m.sampling_rate, neighbours}, order);
        } else {
          return kInfinity;
        }
      },
      mechanism);
  return value * (1 + kSlack);
}

double zcdp(const Mechanism& mechanism, Neighbours neighbours) {
  const double value = std::visit(
      [&]<class M>(const M& m) -> double {
        if constexpr (std::is_same_v<M, Gaussian> || std::is_same_v<M, DiscreteGaussian>) {
          return square(m.sensitivity / m.sigma) / 2;
        } else if constexpr (std::is_same_v<M, Laplace>) {
          const Real e = static_cast<Real>(m.sensitivity) / m.scale;
          return static_cast<double>(e + std::expm1(-e));
        } else if constexpr (std::is_same_v<M, DiscreteLaplace>) {
          const double e = m.sensitivity / m.scale;
          return e * std::tanh(e / 2);
        } else if constexpr (std::is_same_v<M, Exponential>) {
          return square(m.epsilon) / 8;
        } else if constexpr (std::is_same_v<M, Pure> || std::is_same_v<M, ApproxDp>) {
          return m.epsilon * std::tanh(m.epsilon / 2);
        } else if constexpr (std::is_same_v<M, Zcdp>) {
          return m.rho;
        } else if constexpr (std::is_same_v<M, SubsampledGaussian>) {
          const double distance = neighbours == Neighbours::kAddRemove ? 1 : 2;
          return square(distance / m.noise_multiplier) / 2;
        } else {
          return kInfinity;
        }
      },
      mechanism);
  return value * (1 + kSlack);
}

}  // namespace parley::privacy::accounting
