// Bounds as textbooks and papers print them. They are valid but not tight, so accountants do not use them; they serve
// comparisons and the labelled reproductions of published calibrations.
#pragma once
#include <cstdint>

namespace parley::privacy::accounting::textbook {

// Dwork, Rothblum, Vadhan 2010: e sqrt(2 k ln(1/d')) + k e (exp(e) - 1), d' = delta - k step_delta.
double advanced_composition_epsilon(double step_epsilon, std::int64_t count, double delta, double step_delta = 0);
// Kairouz, Oh, Viswanath 2015, Theorem 3.4, for delta-free steps.
double kov_closed_form_epsilon(double step_epsilon, std::int64_t count, double delta);
// The same authors' Theorem 3.3 as printed: the smallest epsilon among (k - 2i) e.
double kov_lattice_epsilon(double step_epsilon, std::int64_t count, double delta);
// Bun, Steinke 2016: rho + 2 sqrt(rho ln(1/delta)) and its two inverses.
double zcdp_epsilon(double rho, double delta);
double zcdp_delta(double rho, double epsilon);
double zcdp_rho(double epsilon, double delta);
// Dwork, Roth 2014, Theorem 3.22, sensitivity 1; epsilon < 1 only.
double gaussian_sigma(double epsilon, double delta);
// Dwork, Roth 2014, Corollary 3.21: epsilon per step for T steps.
double epsilon_per_step(double epsilon, double delta, std::int64_t steps);
// Cesar, Rogers 2021: Renyi bound of an e-bounded-range step, min(e, KL + (a-1) e^2/8).
double bounded_range_renyi(double epsilon, double order);
// Poisson sampling of an e-DP step, add-remove only: ln(1 + q (e^e - 1)).
double amplified_epsilon(double epsilon, double sampling_rate);

}  // namespace parley::privacy::accounting::textbook
