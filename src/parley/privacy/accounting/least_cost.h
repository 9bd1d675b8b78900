// What a plan costs at least: the other side of every answer of an accountant (accountant.h).
//
// An accountant proves upper bounds, and taking the smallest of several makes the worst of them decide. So an answer is
// also held against lower bounds that are computed by other means, and one below them is not believed. A lower bound is
// what particular neighbours, mechanisms and tests achieve:
//   one step      the exact profile of each event on its own (profile.h): more steps never cost less
//   closed forms  optimal composition for pure events, one Gaussian for Gaussians: exact for these plans
//   any plan      each event is replaced by a pair (P, Q) of laws that a mechanism of its kind has, on finitely many
//                 outcomes: the outcomes of the step put together in cells. Pairs are multiplied, and outcomes of the
//                 product with nearly equal losses are put together again, so that there are never more than a few dozen.
//                 Putting outcomes together is post-processing, which never costs more, and all numbers are positive
//                 masses: there is no grid, no transform, no tilt and no difference of large numbers.
//
// The pairs: an e-DP step is randomised response; the exponential mechanism has two outcomes with losses u and u - e;
// zCDP is a Gaussian; Laplace noise on a vector moves one coordinate; discrete noise moves one coordinate by a whole number
// of grains. docs/privacy/accounting.md has the proofs.
#pragma once
#include "parley/privacy/accounting/event.h"

namespace parley::privacy::accounting {

// No valid answer for this plan is below these. Both are rounded towards 0; a plan with an unprotected release is not
// their business.
double least_epsilon(const Plan& plan, double delta);
double least_delta(const Plan& plan, double epsilon);

// The part that needs no composition, in microseconds: one step and closed forms.
double least_epsilon_of_steps(const Plan& plan, double delta);

}  // namespace parley::privacy::accounting
