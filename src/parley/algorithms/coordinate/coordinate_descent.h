// Coordinate descent with a cyclic or a uniformly random order (Wright 2015), and its private form, DP-CD
// (Mangold, Bellet, Salmon, Tommasi, "Differentially Private Coordinate Descent for Composite Empirical Risk
// Minimization", 2022).
//
//   minimise over W   F(W) = 1/n sum_i phi(<x_i, W>, y_i) + l1 ||W||_1 + l2/2 ||W||^2
//
//   W_0 = 0;  for t = 0, ..., T - 1
//     j   = t mod D, or uniform on the D coordinates
//     g   = 1/n sum_i phi'_i x_ij                    (private: + Gaussian noise, by the gate)
//     W_j <- prox(W_j - gamma/M_j g;  gamma/M_j)
//
// M_j bounds the curvature of the mean loss along coordinate j (smoothness.h): of the data, or, when the run
// is private, of the public bounds |x_ij| <= B_j or of a release of its own. Softmax: one coordinate per
// class and column. A penalised intercept is one more column of ones; a free one is such a column without
// penalty. A step costs the nonzeros of its column: margins follow single weights (kept_margins.h).
#pragma once
#include <cstdint>
#include <optional>

#include "parley/algorithms/parts/fit.h"
#include "parley/core/result.h"
#include "parley/core/toml.h"

namespace parley::algorithms {

enum class CoordinateOrder { kCyclic, kUniform };

struct CoordinateSettings {
  std::optional<int> passes;   // T / D; absent: 100, or what a private run's noise allows
  std::optional<double> step;  // gamma; absent: 1, or less in a private run too noisy for it
  CoordinateOrder order = CoordinateOrder::kCyclic;
  double tolerance = 1e-12;  // a cyclic run stops after a pass in which no step promised more; 0, or private: never
  std::uint64_t seed = 0;    // of the uniform order, which is public

  static CoordinateSettings read(Toml& settings);  // its keys of [algorithm]
};

// Refuses constraints (l1_radius, sparsity). Iterations of the fit are steps.
Result<Fit> coordinate_descent(const Problem& problem, const CoordinateSettings& settings, const Observer& observer);

}  // namespace parley::algorithms
