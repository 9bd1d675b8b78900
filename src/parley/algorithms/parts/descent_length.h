// How long a private descent may be when the settings leave it open: decided from public numbers alone.
//
// The length tau of a descent is what its steps' sizes add up to. It leaves noise of deviation at most s = k tau in
// each of D weights, however many steps it takes. In the mean over that noise the objective rises by at most
//
//   loss, l2   (c X^2 + l2 D) s^2 / 2      if nothing takes the noise back: X bounds a row's norm, c the loss's
//                                          curvature
//              D s^2 / (4 tau)             if the descent does: where the objective bends by h,
//                                          s^2 (1 - exp(-2 h tau)) / (2 h tau) is left of the square s^2, and costs h/2
//                                          times that
//   l1         l1 D s sqrt(2 / pi)         if nothing takes it back
//              D s^2 / (2 tau)             if the penalty does: a weight that noise moves and l1 pulls to 0 is at
//                                          s^2 / (2 l1 tau) from it in the mean
//
// of which the smaller holds each time (for a quadratic loss and small steps; it is a guide for the others). What there
// is to win is the loss of W = 0, so a run ends where noise could have cost kNoiseShare of that: whatever the data are,
// its model is hardly worse than none.
#pragma once
#include "parley/glm/objective.h"

namespace parley::algorithms {

inline constexpr double kNoiseShare = 0.05;  // measured: docs/performance/private.md

struct DescentNoise {
  double per_length = 0;   // k
  double coordinates = 1;  // D
  double row_norm = 1;     // X
  double curvature = 1;    // c, over the classes together
  double l1 = 0;
  double l2 = 0;
};

// What noise adds to the objective of a descent of this length, at most.
double noise_cost(const DescentNoise& noise, double length);

// The length, up to `longest`, of the longest descent on which noise costs no more than `most`.
double longest_descent(const DescentNoise& noise, double longest, double most);

// What the curvatures of a record's loss in its margins add up to, at most.
double total_curvature(const glm::Objective& objective);

// The mean loss of W = 0; of least squares for labels whose deviation is a third of their bound.
double loss_of_nothing(const glm::Objective& objective, double label_bound);

// The norm of a record's derivative at W = 0, at most.
double derivative_at_zero(const glm::Objective& objective, double label_bound);

}  // namespace parley::algorithms
