// Budgets for runs whose steps are chosen as they go.
//
// The composition theorems behind `best` (accountant.h) need the list of mechanisms to be fixed beforehand. A filter
// may be asked about mechanisms that were chosen from everything released so far, and the run as a whole still keeps
// (epsilon, delta). Its rules:
//   pure    the sum of epsilons stays within epsilon: the loss of every outcome does,
//           whatever was chosen                                                             Rogers et al. 2016
//   zcdp    the sum of rho stays within the rho that converts to (epsilon, delta)           Feldman, Zrnic 2021
//   renyi   for an order fixed beforehand, the sum of D_a stays within what converts to
//           (epsilon, delta_a)                                                              Feldman, Zrnic 2021
// The deltas of (epsilon, delta) steps come out of a part of delta that is set aside for them (Whitehouse et al. 2023).
//
// A release is allowed while at least one rule allows everything so far. Outcomes allowed by the pure rule have loss at
// most epsilon and add nothing to delta; the outcomes allowed by any other rule are outcomes of the run stopped by that
// rule, so the rules' deltas add up, and together they are at most delta.
//
// A run whose mechanisms are fixed, and only their order and number are not, needs no such care: PlannedFilter.
#pragma once
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/accounting/least_cost.h"
#include "parley/privacy/units.h"

namespace parley::privacy {

class Filter {
 public:
  struct Budget {
    Epsilon epsilon;
    Delta delta;
    Neighbours neighbours = Neighbours::kReplaceOne;
  };
  struct Rules {
    // Orders of the Renyi rules, each above 1; they and the zCDP rule share delta equally. They are worth having for
    // sampled Gaussians, whose zCDP cost ignores the sampling.
    std::vector<double> orders;
    // The part of delta that is set aside for (epsilon, delta) steps; they are refused beyond it.
    double step_delta = 0;
  };

  static Result<Filter> make(const Budget& budget, const Rules& rules);
  static Result<Filter> make(const Budget& budget) { return make(budget, Rules{}); }

  // Fault::kBudgetEnded when the release would exceed the budget, kBadInput when it is not a mechanism or its
  // sensitivity is told under the other neighbouring relation.
  [[nodiscard]] Result<void> may(const Event& event, Neighbours neighbours) const;
  // Asks, then remembers. A refused event leaves nothing behind.
  Result<void> charge(const Event& event, Neighbours neighbours);

  // The largest share of its limit that the most generous rule has used: 0 at the start, at most 1.
  [[nodiscard]] double used() const;
  [[nodiscard]] const Budget& budget() const { return budget_; }
  // How often all charges together were held against what they cost at least: at most 20 times, however many there
  // were.
  [[nodiscard]] int held_together() const { return held_together_; }

 private:
  struct Totals {
    double pure = 0, rho = 0, leaked = 0;
    std::vector<double> divergence;
    accounting::LeastOfSteps least;
  };
  explicit Filter(const Budget& budget)
      : budget_(budget), totals_{0, 0, 0, {}, {budget.neighbours, budget.delta.value()}} {}
  [[nodiscard]] Totals with(const Event& event) const;
  [[nodiscard]] double used_by(const Totals& totals) const;
  // The totals with this event, or why it is refused.
  [[nodiscard]] Result<Totals> allowed(const Event& event) const;
  static void note(std::vector<Event>& events, const Event& event);

  Budget budget_;
  Rules rules_;
  double rho_limit_ = 0;
  std::vector<double> divergence_limit_;
  Totals totals_;
  std::vector<Event> events_;  // equal mechanisms counted together
  // How far the budget was used when all charges together were last held against what they cost at least
  // (least_cost.h).
  double checked_ = 0;
  int held_together_ = 0;
};

// Releases out of a list agreed on beforehand, each at most as often as the list says, in any order, and stopping
// at any time, all of which may depend on earlier outcomes. Such a run costs at most what the whole list costs:
// whatever was released so far, what may still follow is dominated by the rest of the list, and composition does
// not depend on order.
class PlannedFilter {
 public:
  static Result<PlannedFilter> make(const Plan& plan);
  // The list after some of it was used; `left` is what left() was then.
  static Result<PlannedFilter> resume(const Plan& plan, const std::vector<std::int64_t>& left);
  [[nodiscard]] Result<void> may(const Event& event, Neighbours neighbours) const;
  Result<void> charge(const Event& event, Neighbours neighbours);
  // What the list still allows.
  [[nodiscard]] const Plan& remaining() const { return remaining_; }
  [[nodiscard]] std::vector<std::int64_t> left() const;  // its counts

 private:
  explicit PlannedFilter(Plan plan) : remaining_(std::move(plan)) {}
  Plan remaining_;
};

}  // namespace parley::privacy
