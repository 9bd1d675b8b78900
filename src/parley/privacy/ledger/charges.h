// What a ledger keeps account of: purses with their budgets, charges of single releases and of whole plans, and what is
// known of them afterwards.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parley/privacy/accounting/event.h"
#include "parley/privacy/units.h"

namespace parley::privacy {

// Whose budget: one data set of the site, for one unit, under one neighbouring relation.
struct Purse {
  std::string data_set;
  Unit unit = Unit::kRecord;
  Neighbours neighbours = Neighbours::kReplaceOne;
  bool operator==(const Purse&) const = default;
};

// How the charges of a purse add up (standing.h): single releases chosen as they go, or whole plans.
enum class Composition { kSteps, kPlans };
std::string_view name(Composition composition);  // "steps", "plans"

struct Budget {
  Epsilon epsilon;
  Delta delta;
  Composition composition = Composition::kSteps;
  bool operator==(const Budget&) const = default;
};

// One release to be paid for. `key` names the release within its run ("round 3/select"): the same run and key cannot be
// charged twice, so a repeated request cannot draw fresh noise.
struct Charge {
  std::string run;
  std::string key;
  Event event;
  bool claimed = true;  // false: noise from a seed. It counts against the budget and earns no claim.
};

struct Receipt {
  std::int64_t entry = 0;  // number in the ledger
};

// A plan to be paid for before its first draw: `once`, and then `steps` times what one step does.
struct PlanRequest {
  std::string run;
  std::string key;
  std::vector<Event> once{};
  std::vector<Event> step{};
  std::int64_t steps = 1;
  Delta delta;  // the plan is priced at this delta, or at what the budget has left of it
  bool claimed = true;

  [[nodiscard]] Plan plan(Neighbours neighbours, std::int64_t first_steps) const;
};

struct PlanReceipt {
  std::int64_t entry = 0;
  std::int64_t steps = 0;  // that were charged, from 1 to those asked for
  double epsilon = 0;      // what the charged steps cost
  double delta = 0;
};

// A plan that a run was charged for.
struct PaidPlan {
  PlanReceipt receipt;
  Plan plan;  // of the charged steps
  bool claimed = true;
};

struct Spent {
  Purse purse;
  std::optional<Budget> budget;
  std::int64_t charges = 0;
  std::int64_t releases = 0;      // that were charged
  std::int64_t void_charges = 0;  // those with noise from a seed: they count against the budget and earn no claim
  double used = 0;                // share of the budget that the filter counts as used, at most 1
  // More was charged than the budget (set later, or counted too low): it bounds nothing, and nothing more is released.
  bool overspent = false;
  double epsilon = 0;         // proved of all charges together, with
  double delta = 0;           // this
  std::vector<Event> events;  // grouped
};

struct Entry {
  std::int64_t number = 0;
  std::int64_t time = 0;  // seconds since 1970, UTC
  std::string kind;       // "budget" | "charge" | "plan"; with noise from a seed "void-charge" | "void-plan"
  Purse purse;
  std::string run;
  std::string key;
  std::string content;  // the event, the plan with its price, or the budget, as JSON
  std::string hash;
};

// A charged plan whose price does not cover it: an earlier version priced it too low, or the entry was forged.
struct PricedTooLow {
  std::int64_t entry = 0;
  Purse purse;
  std::string run;
  double recorded = 0;  // epsilon in the entry, at
  double delta = 0;     // this
  double cost = 0;      // epsilon that it costs there: what counts against the budget
};

// What a look at the whole record found.
struct Audit {
  std::int64_t entries = 0;
  std::string head;
  std::vector<PricedTooLow> too_low;
};

}  // namespace parley::privacy
