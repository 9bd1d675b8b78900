// The Poisson-sampled Gaussian mechanism, in units of one record's largest contribution. With N_m for the density of
// N(m, s^2), s the noise multiplier and q the sampling rate, the dominating pairs are
//
//   add-remove    P = (1-q) N_0 + q N_1,  Q = N_0, in both directions       Zhu, Dong, Wang 2022, Theorem 11
//   replace-one   P = (1-q) N_0 + q N_1,  Q = (1-q) N_0 + q N_{-1}          Schuchardt et al. 2024; Lebeda et al. 2024
//
// With A(x) = 1 - q + q exp((2x-1)/(2 s^2)) the loss ln P/Q is
//
//   add-remove    ln A(x)
//   replace-one   ln A(x) - ln A(-x)
//
// and increases with x.
#pragma once
#include "parley/privacy/units.h"

namespace parley::privacy::accounting {

struct SampledGaussian {
  double sigma;
  double rate;
  Neighbours neighbours;

  [[nodiscard]] double loss(double x) const;
  // The x with this loss; minus infinity below the smallest loss ln(1-q) of add-remove.
  [[nodiscard]] double at_loss(double loss) const;
  [[nodiscard]] double smallest_loss() const;
  // The natural logarithm of the density of P at x.
  [[nodiscard]] double log_density(double x) const;
  // P(X > x), Q(X > x) and the same for "<".
  [[nodiscard]] long double p_above(double x) const;
  [[nodiscard]] long double q_above(double x) const;
  [[nodiscard]] long double p_below(double x) const;
  [[nodiscard]] long double q_below(double x) const;
};

// D_a(P||Q), which for add-remove is also the larger of the two directions (Mironov, Talwar, Zhang 2019, Theorem 5).
// Relative error below 1e-10, on the high side.
double renyi_sampled_gaussian(const SampledGaussian& pair, double order);

}  // namespace parley::privacy::accounting
