// Sensitivities that rest on a theorem rather than on clipping. Each has its proof in theorems.md and a test that
// searches random and adversarial neighbours for a counterexample.
#pragma once
#include "parley/core/result.h"
#include "parley/privacy/units.h"

namespace parley::privacy {

// argmin of (1/n) sum_i l(w; z_i) + R(w), where every l(.; z) is L-Lipschitz and convex and the objective is
// lambda-strongly convex: replacing one record moves the minimiser by at most 2L/(lambda n) in l2 (Chaudhuri,
// Monteleoni, Sarwate 2011).
struct StronglyConvexArgmin {
  double lipschitz = 0;        // L
  double strong_convexity = 0;  // lambda
  double records = 0;          // n, public
};
Result<double> argmin_sensitivity(const StronglyConvexArgmin& problem);

// Party m of ADMM sharing minimises  lambda/2 ||x||^2 + <y, Dx> + rho/2 ||Dx + c||^2  and shares the N values
// clip(Dx, V). With ||row of D|| <= B, |y_i + rho c_i| <= U, ||x|| <= X, replacing one record (its row of D) moves
// the shared vector in l2 by at most  sqrt(4 V^2 + 4 B^2 (U + rho B X)^2 / (lambda rho)).
struct AdmmSharing {
  double value_bound = 0;    // V
  double row_bound = 0;      // B
  double dual_bound = 0;     // U
  double weight_bound = 0;   // X
  double rho = 0;
  double lambda = 0;
};
Result<double> admm_sharing_sensitivity(const AdmmSharing& party);

}  // namespace parley::privacy
