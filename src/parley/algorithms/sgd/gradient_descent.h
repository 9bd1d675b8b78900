// Accelerated gradient descent on all records (Nesterov 1983), and its private form: noisy gradients of every record,
// a public ridge, the mean of the last half of the iterates.
//
//   minimise    F(W) = 1/n sum_i phi(<x_i, W> + b, y_i) + l1 ||W||_1 + l2/2 ||W||^2
//
//   W_0 = 0;  for t = 0, ..., T-1
//     Z       = W_t + t/(t+3) (W_t - W_{t-1})
//     s_t     = sum_i c_i g_i                           g_i = phi'_i x_i at Z,  c_i = min(1, C / ||g_i||)
//     s_t    += N(0, (z C)^2 I)                         (private: released by the gate)
//     W_{t+1} = prox_{h,l1,l2+r}(Z - h s_t / n)
//   result: W_T; of a private run the mean of the last half
//
// Not private. No clip, r = 0, h = 1/L with L = c times the mean of the rows' squared norms, which no curvature exceeds.
//
// Private, from public numbers alone (n, d, bounds, epsilon, delta). With mu the sensitivity over the deviation of one
// Gaussian release that costs the whole budget, D the coordinates, X the norm of a row with its intercept, and R0 the
// derivative at W = 0 (1/2 for logistic, Y for labels of [-Y, Y], else Y = 1),
//
//   C   = X R0, a quarter of that for the squared loss, 0.7 of it for softmax
//   r   = min(0.1 sqrt(D), X) sides C / (Y mu n)              the noise of the mean gradient, over all steps together
//   T   = 2 sqrt(c X^2 / r)                             what acceleration needs at that curvature
//   h   = 1 / (c X^2 + r)
//
// r is added, but not on the intercept, where the model states no penalty, and said (Fit::l2_used); a stated one is kept.
// X, the scale of numbers and the range of real labels may be far below their bounds, and are found first, for a few percent of the budget
// (private_scale.h); T was fixed before. Where the noise is as large as what data usually show, by public numbers, an
// intercept is all that is learnt (Fit::remark). Everything after the release of s_t is post-processing.
#pragma once
#include <optional>

#include "parley/algorithms/parts/fit.h"
#include "parley/core/result.h"
#include "parley/core/toml.h"

namespace parley::algorithms {

struct GradientDescentSettings {
  // Absent: by the formulas above.
  std::optional<int> steps;    // T
  std::optional<double> clip;  // C
  bool look = true;            // at the sizes of numbers and rows, privately

  static GradientDescentSettings read(Toml& settings);  // its keys of [algorithm]
};

// How loud the noise of a private run is beside what data usually show: the norm of the noise of the mean gradient, over
// all steps together, over a tenth of the largest gradient at W = 0. From public numbers; at 1 and more nothing is to be
// learnt of the columns.
Result<double> noise_beside_likely_signal(const Problem& problem);

Result<Fit> gradient_descent(const Problem& problem, const GradientDescentSettings& settings, const Observer& observer);

}  // namespace parley::algorithms
