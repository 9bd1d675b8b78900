// What is known of one purse after the entries read so far, and what it still allows.
//
// How charges of a purse compose is fixed with its budget, so that delta need not be shared between rules:
//   steps   single releases chosen as they go: the filter of accounting/filter.h
//   plans   whole plans, each charged beforehand at (epsilon_b, delta_b): the sums stay within (epsilon, delta). A
//           plan's own steps compose by the best accountant, so a run that was calibrated to the whole budget fits.
// Proofs: composition.md.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/accounting/filter.h"
#include "parley/privacy/ledger/charges.h"
#include "parley/privacy/units.h"

namespace parley::privacy {

struct Price {
  double epsilon = 0;
  double delta = 0;
};

// A sum of numbers that are not negative, never below the true one; exact while the double sum is.
double sum_rounded_up(double a, double b);

// The smallest proved epsilon of the plan at `delta`; with delta 0 where the plan is pure and that costs no more.
// `most`: an epsilon that is tried where the smallest found is barely above it.
Result<Price> price_of(const Plan& plan, Delta delta, double most);

class Standing {
 public:
  explicit Standing(Purse purse) : purse_(std::move(purse)) {}

  // Entries of the record, in order. What an earlier and larger budget allowed may exceed a later one.
  Result<void> set_budget(const Budget& budget);
  void note_release(const Event& event, bool claimed);
  void note_plan(const Plan& plan, Price price, bool claimed);

  [[nodiscard]] const std::optional<Budget>& budget() const { return budget_; }
  // Whether releases, one after the other, or a plan at this price, may follow.
  [[nodiscard]] bool allows(std::span<const Event> releases) const;
  [[nodiscard]] bool allows(const Plan& plan, Price price) const;
  // What plans may still cost.
  [[nodiscard]] Price left() const;
  [[nodiscard]] Spent spent() const;

 private:
  [[nodiscard]] Price sums() const;
  [[nodiscard]] bool exceeds(const Budget& budget) const;
  static void group(std::vector<Event>& events, const Event& event);

  Purse purse_;
  std::optional<Budget> budget_;
  std::optional<Filter> filter_;  // composition by steps
  // The past already exceeds the budget, lowered later or counted too low: nothing more is allowed.
  bool exceeded_ = false;
  std::vector<Event> events_;    // of releases and plans, grouped by mechanism
  std::vector<Event> releases_;  // of releases alone
  Price plans_;                  // sum of the plans' prices
  std::int64_t charges_ = 0;
  std::int64_t void_charges_ = 0;
};

}  // namespace parley::privacy
