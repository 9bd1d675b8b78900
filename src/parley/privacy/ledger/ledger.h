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
#include "parley/privacy/ledger/charges.h"

namespace parley::privacy {

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
