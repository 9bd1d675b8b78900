// What a plan of events costs. Every answer is an upper bound that holds under adaptive composition; `best`
// takes the smallest that is not below what the plan costs at least (bracket.h). docs/privacy/accounting.md
// states what each accountant proves.
//
//   basic  sums of single steps' costs
//   kov    optimal composition of pure (and (epsilon, delta)) steps, Kairouz-Oh-Viswanath 2015
//   zcdp   sums of rho with the optimal conversion, Canonne-Kamath-Steinke 2020
//   rdp    sums of Renyi divergences at each order, the same conversion at the best order
//   pld    the distribution of the total privacy loss; exact for Gaussians, by FFT otherwise
#pragma once
#include <array>

#include "parley/core/result.h"
#include "parley/privacy/accounting/accountants.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/units.h"

namespace parley::privacy {

inline constexpr double kFineGrid = 1e-3;

// The smallest epsilon >= 0 this accountant proves at delta; infinity when it proves none (an unprotected release, or a
// plan the accountant does not cover). An error for a plan that is not valid, and where every answer is below what the
// plan costs at least. `grid`: the relative excess of delta that the grid of a loss distribution may cost; coarser is
// quicker, and as valid.
Result<double> epsilon_at(const Plan& plan, Delta delta, Accountant accountant = Accountant::kBest,
                          double grid = kFineGrid);
// The smallest delta it proves at epsilon >= 0; 1 when it proves nothing.
Result<double> delta_at(const Plan& plan, double epsilon, Accountant accountant = Accountant::kBest,
                        double grid = kFineGrid);
// The same answers before they are held against the lower bound: for the middle of a search, whose end is held.
Result<double> searched_epsilon_at(const Plan& plan, Delta delta, Accountant accountant, double grid);
Result<double> searched_delta_at(const Plan& plan, double epsilon, Accountant accountant, double grid);

// Every accountant's answer beside the one reported.
struct Account {
  double epsilon = 0;
  double delta = 0;
  Accountant chosen = Accountant::kBest;
  // In the order of kAccountants: the epsilons of account_at_delta, the deltas of account_at_epsilon.
  std::array<double, kAccountants.size()> all{};
};
Result<Account> account_at_delta(const Plan& plan, Delta delta);
Result<Account> account_at_epsilon(const Plan& plan, double epsilon);

// The sum of the steps' pure epsilons, rounded up; infinity when a step is not pure. It holds with delta = 0.
Result<double> pure_epsilon(const Plan& plan);

// The accountants' common currencies, for filters and calibration.
Result<double> zcdp_of(const Plan& plan);                 // sum of rho; infinity when a step has none
Result<double> renyi_of(const Plan& plan, double order);  // D_order of the plan
// NOT a bound, but a quick estimate of ln delta(epsilon) to start searches from, good near the log_delta that is hoped
// for; NaN when there is none.
double estimated_log_delta(const Plan& plan, double epsilon, double log_delta);

}  // namespace parley::privacy
