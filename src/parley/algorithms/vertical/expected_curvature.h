// How far a step on a sample may overshoot: the expected curvature of Lou & Cheung, Section III, and the convergence
// bounds that stand on it. For tables small enough to hold a Gram matrix: a tool for looking, no part of a run.
//
// With phi'' <= L, a box |x_i| <= eta_i and P_ij = P(i and j are sampled), H = L P o A'A / n,
//
//   C           = sup over |delta_i| <= 2 eta_i of delta' H delta
//   Prop. 1     C <= sum_i p_i beta_i (2 eta_i)^2,    beta_i = min(sigma(P), sigma(A'A)) L |a_i|^2 / n
//               sigma(M): the largest eigenvalue of M with its diagonal scaled to 1
//   Prop. 2     C <= p_max C_prod for one block a round, C_prod = sum_i L |a_i|^2 (2 eta_i)^2 / n
//   Prop. 3     C <= tau mu_1 + tau (tau - 1) mu_2                              of tau-nice
//   Prop. 4     C <= K tau mu_1 + K tau (tau - 1) mu_2' + K (K - 1) tau^2 mu_3  of distributed
//               mu_1 = max |delta_i a_i|^2,  mu_2 = max over pairs of <delta_i a_i, delta_j a_j>, mu_2' within a party,
//               mu_3 across two parties, all times L / n at |delta_i| = 2 eta_i
//
//   (7)         F(x^t) - F* <= 2 (h_0 + C / p_min) / (p_min t + 2) in the mean, with h_0 = F(x^0) - F*
//   (10)        the same with (1 + rho) C, where gradients and atoms are off by rho_g and rho_l in the sense of
//   (8)         |g_i^ - g_i|_* <= rho_g gamma C / 2
//   (9)         <s^, g^> <= min over s of <s, g^> + rho_l gamma C / 2
//
// Table III of the paper prints (7) without the 1/p_min beside C: that does not hold (docs/algorithms/bcfw.md).
#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "parley/algorithms/vertical/block_sampling.h"
#include "parley/core/result.h"
#include "parley/linalg/matrix.h"

namespace parley::algorithms {

struct CurvatureProblem {
  const linalg::Matrix& features;
  std::span<const double> radii;         // eta_i
  std::span<const std::size_t> parties;  // columns of each
  double loss_curvature = 1;             // L
};

struct CurvatureBounds {
  double mu_1 = 0, mu_2 = 0, mu_2_within = 0, mu_3 = 0;
  double sigma_pairs = 0, sigma_gram = 0;
  double product = 0;  // C_prod
  double proposition_1 = 0;
  std::optional<double> proposition_3{}, proposition_4{};  // of the samplings that they are about
};

Result<CurvatureBounds> curvature_bounds(const CurvatureProblem& problem, const BlockSampling& sampling);

// C itself: the supremum is at a corner of the box, and all of them are tried. At most 20 columns.
Result<double> expected_curvature(const CurvatureProblem& problem, const BlockSampling& sampling);

// (7), and (10) with rho above 0.
double convergence_bound(double first_gap, double curvature, double p_min, double step, double rho = 0);

// What makes (8) and (9) equalities.
double gradient_inexactness(double gradient_error, double gamma, double curvature);  // rho_g
double oracle_inexactness(double oracle_error, double gamma, double curvature);      // rho_l

}  // namespace parley::algorithms
