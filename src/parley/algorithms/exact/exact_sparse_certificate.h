// How far the objective is above its minimum, at most: a dual feasible point and its gap.
//
// Fenchel-Rockafellar: with f_i = phi_i / n and R the penalty (or the ball's indicator plus l2),
//
//   min_w sum_i f_i(<x_i, w> + b) + R(w)  =  max_theta -sum_i f_i*(-theta_i) - R*(X'theta)
//
// over the theta in the conjugates' domain; a free intercept adds the constraint sum_i theta_i = 0. The difference of
// the two sides at (w, theta) is a sum of Fenchel-Young terms, none negative:
//
//   sum_i [f_i(m_i) + f_i*(-theta_i) + theta_i m_i]  +  R(w) + R*(v) - <v, w>,      v = X'theta
//
// theta starts as minus the slopes at w, where the first sum is zero.
//
//   l1 only:       scaled so that |v|_inf <= l1; scaling towards zero stays in every domain
//   elastic net:   R*(v) = sum_j (|v_j| - l1)_+^2 / (2 l2) is finite everywhere; the scaled point is tried too
//   ball:          R*(v) <= radius (|v - l2 w|_inf - l1)_+ + l2/2 |w|^2, by convexity of the l2 term at w.
//                  Without a free intercept this is the Frank-Wolfe gap <grad, w> + radius |grad|_inf.
//
// A free intercept: theta is first balanced (MeanLoss::balance) and X'theta computed again.
#pragma once
#include <span>
#include <vector>

#include "parley/algorithms/exact/exact_sparse_loss.h"
#include "parley/algorithms/parts/fit.h"

namespace parley::algorithms {

struct PrimalPoint {
  std::span<const double> coefficients;  // class by class, each class with its intercept last
  std::span<const double> margins;
  std::span<const double> slopes;    // of the mean loss by margin
  std::span<const double> gradient;  // of the mean loss by coefficient
  double objective = 0;
  double mean_loss = 0;
};

// The gap is exact where it is below `resolve`. Above, it may be the cheaper bound that concavity of the dual value D
// gives for l1 alone: D(s theta) >= s D(theta) + (1 - s) D(0), where D(0) = 0 because no loss is ever negative and each
// comes arbitrarily near zero, and D(theta) = mean loss + <theta, m> at minus the slopes.
double duality_gap(const Problem& problem, const MeanLoss& loss, const PrimalPoint& at, double resolve);

// gradient[class * stride + j] = <column j, slopes of the class>, the intercept's at j = d.
void mean_loss_gradient(const Problem& problem, std::span<const double> slopes, std::span<double> gradient);

}  // namespace parley::algorithms
