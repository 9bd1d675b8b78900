// Greedy coordinate descent (Gauss-Southwell; Nutini et al. 2015), smooth and proximal, as in Mangold,
// Bellet, Salmon, Tommasi, "High-Dimensional Private Empirical Risk Minimization by Greedy Coordinate
// Descent", 2023, Algorithms 1 and 2.
//
//   minimise over W   F(W) = 1/n sum_i phi(<x_i, W>, y_i) + l1 ||W||_1 + l2/2 ||W||^2
//
//   W_0 = 0;  for t = 0, ..., T - 1
//     j = argmax of the rule's score (greedy_scores.h)                                          (3)
//     W_j <- prox(W_j - gamma/M_j g_j;  gamma/M_j psi),   g_j the partial derivative of the mean loss   (4)
//
// M_j bounds the curvature of the mean loss along coordinate j: c/n ||x_j||^2 from the data, or c B_j^2 from
// the public bounds |x_ij| <= B_j; c = 1 (squared), 1/4 (logistic, softmax), 2 (squared hinge). Softmax: one
// coordinate per class and column. A penalised intercept is one more column of ones; a free one is such a
// column without penalty.
//
// Private (Problem::privacy): the argmax becomes the exponential mechanism and g_j is released with noise
// (greedy_cd_noise.h), both through the gate; nothing else that the iterates depend on is computed from the
// data. M_j comes from the bounds or from a release of its own (smoothness.h), T and the noise from public
// numbers. Proof note: greedy_cd.md.
//
// A step costs the nonzeros in the rows of column j and a scan of d/256 numbers (kept_margins.h, largest_score.h).
#pragma once
#include <optional>

#include "parley/algorithms/parts/fit.h"
#include "parley/algorithms/parts/kept_margins.h"
#include "parley/core/result.h"
#include "parley/core/toml.h"
#include "parley/privacy/sensitivity/greedy_scores.h"

namespace parley::algorithms {

using privacy::GreedyRule;
using privacy::GreedyScores;

enum class SmoothnessFrom { kData, kBounds };

struct GreedySettings {
  std::optional<int> iterations;  // 1000; private: from n, d and the target (greedy_cd_noise.h)
  GreedyRule rule = GreedyRule::kStep;
  double step = 1;  // gamma; 1 never raises the objective
  double tolerance =
      1e-12;  // stops when the best score's square / 2, a decrease, is at most this; not for private runs
  std::optional<SmoothnessFrom> smoothness;  // kData; private: what PrivateTerms::smoothness says, and never kData
  std::optional<double> share;               // private: of each step's cost, for the selection
  Upkeep upkeep = Upkeep::kAutomatic;

  static GreedySettings read(Toml& settings);  // its keys of [algorithm]
};

// Refuses constraints (l1_radius, sparsity), rule gs with an l1 penalty and a private free intercept. Fit::gap is the
// largest distance of a partial derivative from the subdifferential, 0 exactly at an optimum; private runs have none.
Result<Fit> greedy_cd(const Problem& problem, const GreedySettings& settings, const Observer& observer);

}  // namespace parley::algorithms
