// What each accountant proves by itself (accountant.h): no answer here was held against the others or against what the
// plan costs at least.
#pragma once
#include <cstdint>
#include <vector>

#include "parley/privacy/accounting/accountants.h"
#include "parley/privacy/accounting/event.h"

namespace parley::privacy::accounting {

// Equal mechanisms are counted together and the order of events is forgotten, so that k events of count 1 and one of
// count k are the same plan to every accountant, bit for bit.
struct MergedPlan {
  Neighbours neighbours;
  std::vector<Event> events;
  std::int64_t steps = 0;
  bool unprotected = false;  // there is a release in the clear among them

  explicit MergedPlan(const Plan& plan);
  [[nodiscard]] Plan plan() const { return {neighbours, events}; }
};

// Infinity, and 1, where it proves nothing. kBest is the smallest of all of them. `grid`: the relative excess of delta
// that the grid of a loss distribution may cost.
double epsilon_by(const MergedPlan& plan, double delta, Accountant accountant, double grid);
double delta_by(const MergedPlan& plan, double epsilon, Accountant accountant, double grid);

double pure_sum(const MergedPlan& plan);
double zcdp_sum(const MergedPlan& plan);
double renyi_sum(const MergedPlan& plan, double order);
// NOT a bound, see estimated_log_delta() in accountant.h.
double estimated_log_delta(const MergedPlan& plan, double epsilon, double log_delta);

}  // namespace parley::privacy::accounting
