// Losses of labels that were released with noise, corrected so that the noise does not bias the model (Natarajan et al.
// 2013, "Learning with noisy labels", Lemma 1, for losses that are affine in the label).
//
// Where phi(m, y) = a(m) + y b(m) + (what has no m in it), a target t with E t = y has E phi(m, t) = phi(m, y) but for a
// constant: the mean over the noise of the corrected objective is the objective, at every model, and so are its
// gradients.
//
//   squared     1/2 (m - t)^2                             any t
//   logistic    log(2 cosh(m/2)) - t m/2                  any t;  t = +-1 is log(1 + e^(-t m))
//
// Both stay convex with the curvature that they have: t only tilts them. With s the sign of t,
//   phi(m, t) = log(1 + e^(-s m)) + (s - t)/2 m,
// so that a target which is a class has the bits of the plain loss. The squared hinge is not corrected so: 1 - y m is cut
// off, and with |t| > 1 the corrected loss is concave beyond the cut and has no minimum.
#pragma once
#include <span>

#include "parley/glm/loss.h"

namespace parley::glm::unbiased {

// As in batch.h and loss.h, with targets in the place of labels.
double mean_loss(Task task, std::span<const double> margins, std::span<const double> targets);
void loss_derivatives(Task task, std::span<const double> margins, std::span<const double> targets,
                      std::span<double> out);
double mean_loss_and_derivatives(Task task, std::span<const double> margins, std::span<const double> targets,
                                 std::span<double> out);
void loss_curvatures(Task task, std::span<const double> margins, std::span<const double> targets,
                     std::span<double> out);

template <class Loss>
double prox(Loss, double step, double v, double target) {
  return Loss::prox(step, v, target);
}
inline double prox(Logistic, double step, double v, double target) {
  const double sign = target < 0 ? -1.0 : 1.0;
  return Logistic::prox(step, v - step * 0.5 * (sign - target), sign);
}

}  // namespace parley::glm::unbiased
