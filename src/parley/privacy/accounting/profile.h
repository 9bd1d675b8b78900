// The exact privacy profile of one step: delta(epsilon) = sup over neighbours and events S of P(S) - e^epsilon Q(S),
// the larger of the two directions, for epsilon >= 0.
//
//   Gaussian, mu = Delta/sigma   Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)   Balle, Wang 2018
//   Laplace, e = Delta/b         1 - exp((epsilon - e)/2)
//   exponential mechanism        (e^(e/2) - e^(epsilon/2))^2 / (e^e - 1)
//   any e-DP step                (e^e - e^epsilon) / (1 + e^e)                                Kairouz et al. 2015
//
// A plan of k Gaussians is one Gaussian with mu^2 = sum of the mu_i^2, so it has a profile of this kind too.
#pragma once
#include "parley/privacy/accounting/event.h"

namespace parley::privacy::accounting {

double gaussian_delta(double mu, double epsilon);
double gaussian_epsilon(double mu, double delta);
// The largest mu that is (epsilon, delta)-DP, rounded down.
double gaussian_mu_within(double epsilon, double delta);

// Rounded up. Of a step that is known only through zCDP: the bound that its conversion gives; 1 and infinity where
// nothing is known (Unprotected).
double step_delta(const Mechanism& mechanism, Neighbours neighbours, double epsilon);
double step_epsilon(const Mechanism& mechanism, Neighbours neighbours, double delta);

// Total variation between a discrete Gaussian (sigma in grains) and a rounded continuous one, rounded up.
//   TV <= E_u[exp(u^2/(2 sigma^2)) - 1 + u^2/(2 sigma^2)]/2
//      <= (1 + 1/(8 sigma^2))/(24 sigma^2) + 4 exp(-2 pi^2 sigma^2),       u uniform on [-1/2, 1/2]
// The proof is in docs/privacy/accounting.md. It needs sigma >= 1.
double discrete_gaussian_distance(double sigma);

}  // namespace parley::privacy::accounting
