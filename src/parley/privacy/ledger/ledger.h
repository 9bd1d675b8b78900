// The durable ledger of a site: what was spent, on which data, across runs.
//
// Invariants
//   1. A charge is on disk before charge() returns, hence before any noise is drawn (gate.h): a crash
//      wastes budget and never leaks.
//   2. Entries are only appended. Each carries SHA-256(previous hash, entry), and the head is kept apart,
//      so an entry that is changed, removed, inserted or cut off shows in verify().
//   3. Budgets are checked inside the transaction that writes the charge, under the write lock of the
//      file: two processes never overspend together.
//   4. Charges of one purse compose additively and are never mixed: data set, unit and neighbouring
//      relation together name a purse. What "additively" means is fixed with the budget (standing.h).
//   5. A ledger that was lost is not made anew (ledger_folder.h): copy the whole folder, not ledger.sqlite alone.
//   6. A ledger that lies behind the head that was seen of it is refused (seen_head.h).
//   7. A plan that an earlier version priced too low counts as what it costs (repricing.h).
//
// The chain has no secret: someone who may write the file can forge a whole new chain. Keep the head hash that `parley
// ledger verify` prints somewhere else to notice that too.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
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

// SHA-256, in hexadecimal digits.
std::string digest_of(std::string_view bytes);

class Ledger {
 public:
  // Opens DIR/ledger.sqlite, or makes it where none ever was; reads and checks the whole chain. `seen`: a file outside
  // of DIR that keeps the head too, from the first charge on (seen_head.h), and is written before a charge returns;
  // empty: there is none. DIR has such a file of its own, brought up to date by budgets and plans.
  static Result<Ledger> open(const std::string& directory, const std::string& seen = {});
  static Result<Ledger> open_read_only(const std::string& directory, const std::string& seen = {});
  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;
  ~Ledger();

  // The site's limit; a later entry replaces an earlier one and both stay in the record.
  Result<void> set_budget(const Purse& purse, const Budget& budget);
  // The same unless the purse has a budget, decided under the write lock: of several runs at once only one sets it.
  // Says whether this call did.
  Result<bool> set_budget_if_none(const Purse& purse, const Budget& budget);

  // Charges durably or refuses (Fault::kBudgetEnded) and leaves everything as it was. Safe to call from several
  // threads: charges that wait together are written in one commit.
  Result<Receipt> charge(const Purse& purse, const Charge& charge);

  // All or none.
  Result<std::vector<Receipt>> charge_all(const Purse& purse, std::span<const Charge> charges);

  // Charges durably the whole plan, or the longest prefix of its steps that the budget still holds; refuses
  // (Fault::kBudgetEnded) when not even one step fits.
  Result<PlanReceipt> charge_plan(const Purse& purse, const PlanRequest& request);

  // How many steps charge_plan() would charge now; all of them while no budget is set.
  Result<std::int64_t> steps_that_fit(const Purse& purse, const PlanRequest& request);
  // What charge_plan() would say now, without charging; its entry is 0.
  Result<PlanReceipt> quote(const Purse& purse, const PlanRequest& request);

  // What a run was charged for under this key, and whether it was charged anything at all.
  Result<std::optional<PaidPlan>> paid_plan(const Purse& purse, const std::string& run, const std::string& key);
  Result<bool> knows(const Purse& purse, const std::string& run);

  // The answer of a round is about to leave. On disk when it returns: the last round of the run that left, and a digest
  // of what left. It is refused when a later round has left, or another answer to this one: then what the site kept of
  // the run is not what it sent (ledger/resuming.md). Round 0 asks whether nothing has left.
  Result<void> mark_answer(const Purse& purse, const std::string& run, std::int64_t round, std::string_view answer);

  Result<Spent> spent(const Purse& purse);
  Result<std::vector<Spent>> purses();
  Result<std::vector<Entry>> entries();

  // Re-reads the file, checks every link and prices every plan anew, equal ones once.
  Result<Audit> audit();
  // The head hash; an error where a price does not cover its plan, too.
  Result<std::string> verify();

 private:
  struct State;
  explicit Ledger(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace parley::privacy
