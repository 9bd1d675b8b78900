// Sensitivities that rest on a theorem rather than on clipping. Each has its proof in theorems.md and a test that
// searches random and adversarial neighbours for a counterexample.
#pragma once
#include "parley/core/result.h"
#include "parley/privacy/units.h"

namespace parley::privacy {

struct StronglyConvexArgmin;
struct AdmmSharing;
struct AdmmWeights;
struct SketchedColumn;

// How far in l2 replacing one record moves a value, by a theorem of this file. Nothing else makes one, so a sensitivity
// cannot be a number that somebody thought of.
class ProvedDistance {
 public:
  [[nodiscard]] double value() const { return value_; }

 private:
  friend Result<ProvedDistance> argmin_sensitivity(const StronglyConvexArgmin& problem);
  friend Result<ProvedDistance> admm_sharing_sensitivity(const AdmmSharing& party);
  friend Result<ProvedDistance> admm_weights_sensitivity(const AdmmWeights& party);
  friend Result<ProvedDistance> sketched_column_sensitivity(const SketchedColumn& column);
  explicit ProvedDistance(double value) : value_(value) {}
  double value_;
};

// The minimiser of (1/n) sum_i l(w; z_i) + R(w), where every l(.; z) is L-Lipschitz and convex and the objective is
// lambda-strongly convex. Replacing one record moves it in l2 by at most (Chaudhuri, Monteleoni, Sarwate 2011)
//   2 L / (lambda n)
struct StronglyConvexArgmin {
  double lipschitz = 0;         // L
  double strong_convexity = 0;  // lambda
  double records = 0;           // n, public
};
Result<ProvedDistance> argmin_sensitivity(const StronglyConvexArgmin& problem);

// Party m of ADMM sharing minimises
//   lambda/2 ||x||^2 + <y, Dx> + rho/2 ||Dx + c||^2
// and shares the N values clip(Dx, V). With ||row of D|| <= B, |y_i + rho c_i| <= U and ||x|| <= X, replacing one
// record (its row of D) moves the shared vector in l2 by at most
//   sqrt(4 V^2 + 4 B^2 (U + rho B X)^2 / (lambda rho))
// and by twice the error with which the vector was computed.
struct AdmmSharing {
  double value_bound = 0;   // V
  double row_bound = 0;     // B
  double dual_bound = 0;    // U
  double weight_bound = 0;  // X
  double rho = 0;
  double lambda = 0;
  double value_error = 0;  // of the shared vector in l2, for either neighbour: "Floating point" in theorems.md
};
Result<ProvedDistance> admm_sharing_sensitivity(const AdmmSharing& party);

// The minimiser x of the same party's objective, which is its part of the model. Replacing one record moves it in
// l2 by at most
//   2 B (U + rho B X) / lambda
// and by twice the error with which it was computed.
struct AdmmWeights {
  double row_bound = 0;     // B
  double dual_bound = 0;    // U
  double weight_bound = 0;  // X
  double rho = 0;
  double lambda = 0;
  double weight_error = 0;  // of x in l2, for either neighbour
};
Result<ProvedDistance> admm_weights_sensitivity(const AdmmWeights& party);

// J a, a column with one value per record, each at most B in size, under a public linear map. Replacing one record
// moves it in l2 by at most
//   2 B c_J,    c_J = max_r ||column r of J||
// and by twice the error with which it was computed.
struct SketchedColumn {
  double bound = 0;        // B
  double column_norm = 0;  // c_J
  double error = 0;        // of J a in l2, for either neighbour
};
Result<ProvedDistance> sketched_column_sensitivity(const SketchedColumn& column);

}  // namespace parley::privacy
