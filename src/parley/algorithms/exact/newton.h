// Newton's method for  F(w) = loss(A w) + sum_j penalties_j w_j^2 / 2,  a smooth convex loss of margins.
//
//   p  solves  (A' loss'' A + diag(penalties)) p = -grad F, exactly or to a falling relative residual
//   t  makes the slope along p small: the margins move on a line, so a look costs O(n) and no
//      product with A; by convexity a point where the slope is still negative is lower than the start
//
// Certificate. Where every weight has the penalty l2 > 0, F - min F <= |grad F|^2 / (2 l2); with
// alpha = loss'(A w) as the dual point this is exactly the duality gap. Weights without a penalty (free
// intercepts) need a dual point that sums to zero over the rows: the problem supplies that gap. Without
// any penalty the certificate is |grad F|.
#pragma once
#include <span>
#include <vector>

#include "parley/algorithms/exact/exact_settings.h"
#include "parley/algorithms/exact/margin_losses.h"
#include "parley/algorithms/parts/fit.h"
#include "parley/core/result.h"

namespace parley::algorithms {

class NewtonProblem {
 public:
  virtual ~NewtonProblem() = default;

  // One per weight; all l2, or l2 for some and 0 for free intercepts, or all 0.
  [[nodiscard]] virtual std::span<const double> penalties() const = 0;

  virtual void set_weights(std::span<const double> weights) = 0;  // margins <- A w, no line
  virtual void set_line(std::span<const double> step) = 0;        // line <- A p
  virtual LinePoint look(double t) = 0;                           // mean loss and slope at margins + t line
  virtual void move(double t) = 0;                                // to where the last look was
  // The next three are about the point of the last look.
  virtual void loss_gradient(std::span<double> gradient) = 0;
  virtual void newton_step(std::span<const double> gradient, double forcing, std::span<double> step) = 0;
  // Primal minus dual value, dual-feasible also for weights without a penalty; l2 > 0.
  virtual double duality_gap(std::span<const double> weights) = 0;

  // Every row is on its right side, so that the loss falls towards 0 forever along the weights.
  [[nodiscard]] virtual bool separated() const = 0;
  [[nodiscard]] virtual double line_size() const = 0;  // largest |change of a margin| along the line
};

// l2/2 |w|^2 + |A'alpha / n|^2 / (2 l2) over the penalised weights: their part of a duality gap. `image` is A'alpha.
long double penalty_mismatch(std::span<const double> penalties, std::span<const double> weights,
                             std::span<const double> image, long double n);

// Starts at `weights`, one per penalty; Fit::weights are numbered likewise.
Result<Fit> newton(NewtonProblem& problem, std::vector<double> weights, const ExactSettings& settings,
                   const Observer& observer);

}  // namespace parley::algorithms
