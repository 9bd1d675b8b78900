// Theorems 1 and 2 of Lou & Cheung beside a run, step by step: for whoever holds every party's columns.
//
//   gap     F(x^t) - low,  low = max over t of F(x^t) - max_s <x^t - s, g(x^t)>, which is at most min F
//   bound   (7), or (10) where the run was inexact, with h_0 = F(x^0) - low: at least what the theorem says of the mean
//   rho_g   the largest 2 |g^_b - g_b|_* / (gamma_t C) over steps and blocks: how far the gradients that parties rank
//           their columns by (sketched, noisy, clipped) are from those of F at x^t         (8)
//   rho_l   the largest 2 (<s_b, g^_b> - min over s of <s, g^_b>) / (gamma_t C): how far the atom that was taken (drawn,
//           in a private run) is from the best                                             (9)
//   rho     (D + |T|) rho_g + |T| rho_l,  D the diameter of X in l1
//
// Where columns inside one ball are sampled no theorem covers the run: then there is the gap alone.
#pragma once
#include <optional>
#include <vector>

#include "parley/algorithms/parts/convergence.h"
#include "parley/algorithms/vertical/bcfw.h"

namespace parley::algorithms {

class ConvergenceJudge {
 public:
  // After begin(). `algorithm` must outlive it.
  ConvergenceJudge(const Bcfw& algorithm, std::vector<ColumnShare> shares);

  // After every round.
  void see(const Bcfw::Iterate& iterate);
  [[nodiscard]] Convergence result() const;

 private:
  struct Point {
    std::int64_t step = 0;
    std::vector<double> x, gradient, seen;  // g and g^, of all columns
  };
  [[nodiscard]] Point look(const Bcfw::Iterate& iterate);
  [[nodiscard]] std::vector<double> seen_by(const Bcfw::Iterate& iterate, std::size_t party) const;
  void judge_step(const Bcfw::Iterate& after);

  const Bcfw& algorithm_;
  std::vector<ColumnShare> shares_;
  bool covered_;
  Convergence found_{};
  std::optional<Point> before_{};
  double low_;  // of min F
  std::vector<double> objectives_{};
};

}  // namespace parley::algorithms
