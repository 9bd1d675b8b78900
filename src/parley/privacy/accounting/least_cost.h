// What a plan costs at least: the other side of every answer of an accountant (accountant.h).
//
// An accountant proves upper bounds, and taking the smallest of several makes the worst of them decide. So an answer is
// also held against lower bounds that are computed by other means, and one below them is not believed. A lower bound is
// what particular neighbours, mechanisms and tests achieve:
//   one step      the exact profile of each event on its own (profile.h): more steps never cost less
//   closed forms  optimal composition for pure events, one Gaussian for Gaussians: exact for these plans
//   any plan      each event is replaced by a pair (P, Q) of laws that a mechanism of its kind has, on finitely many
//                 outcomes: the outcomes of the step put together in cells. Pairs are multiplied, and outcomes of the
//                 product with nearly equal losses are put together again, so that there are never more than a few
//                 dozen. Putting outcomes together is post-processing, which never costs more, and all numbers are
//                 positive masses: there is no grid, no transform, no tilt and no difference of large numbers.
//
// The pairs:
//   any e-DP step            randomised response
//   exponential mechanism    two outcomes with losses u and u - e
//   zCDP                     a Gaussian
//   Laplace on a vector      one coordinate moves
//   discrete noise           one coordinate moves by a whole number of grains
// docs/privacy/accounting.md has the proofs.
#pragma once
#include <cstdint>

#include "parley/privacy/accounting/event.h"

namespace parley::privacy::accounting {

// No valid answer for this plan is below these. Both are rounded towards 0. Not for a plan with an unprotected release.
double least_epsilon(const Plan& plan, double delta);
double least_delta(const Plan& plan, double epsilon);

// Events of one kind, for which a closed form is exact: Gaussians alone, or Pure events of one epsilon alone.
struct OneKind {
  void add(const Event& event);

  bool gaussians = true, pure = true;
  double squares = 0;  // of mu, summed
  double epsilon = 0;
  std::int64_t steps = 0;
};

// The part that needs no composition, one step and closed forms, for events that come one after another: each of them
// is looked at once, in microseconds, however many there were before.
class LeastOfSteps {
 public:
  LeastOfSteps(Neighbours neighbours, double delta) : neighbours_(neighbours), delta_(delta) {}
  void add(const Event& event);
  [[nodiscard]] double epsilon() const;

 private:
  Neighbours neighbours_;
  double delta_;
  double largest_ = 0;  // of single steps
  OneKind kind_;
};

}  // namespace parley::privacy::accounting
