#include "parley/privacy/ledger/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <tuple>

#include "parley/core/text.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/ledger/budget_ended.h"
#include "parley/privacy/ledger/database.h"
#include "parley/privacy/ledger/entry_text.h"
#include "parley/privacy/ledger/ledger_folder.h"
#include "parley/privacy/ledger/offer.h"
#include "parley/privacy/ledger/record.h"
#include "parley/privacy/ledger/repricing.h"
#include "parley/privacy/ledger/seen_head.h"
#include "parley/privacy/ledger/standing.h"

namespace parley::privacy {

namespace {

using PurseKey = std::tuple<std::string, Unit, Neighbours>;
PurseKey key_of(const Purse& purse) {
  return {purse.data_set, purse.unit, purse.neighbours};
}

Result<void> validate(const Purse& purse, const Budget& budget) {
  if (purse.data_set.find_first_not_of(" \t\r\n") == std::string::npos)
    return fail(bad_input({.field = "data set"}, "needs a name: its budget is kept under it"));
  if (!Standing(purse).set_budget(budget))
    return fail(bad_input(
        {.field = "budget"},
        fmt::format("cannot be counted by {} in double precision; plans can, or numbers that are less extreme",
                    name(budget.composition)),
        fmt::format("epsilon {}, delta {}", budget.epsilon.value(), budget.delta.value())));
  return {};
}

}  // namespace

struct Ledger::State {
  explicit State(Record opened) : record(std::move(opened)) {}

  Record record;
  std::map<PurseKey, Standing> standings;
  RecordEnd end;  // up to where the record was read
  Repricing repricing;
  std::string own_head;    // file in the ledger's folder
  std::string other_head;  // file elsewhere; empty: none
  bool holds_charges = false;

  // Charges that wait for the next commit; whoever finds no writer becomes the writer for all of them.
  struct Waiting {
    const Purse* purse;
    std::span<const Charge> charges;
    std::optional<Result<std::vector<Receipt>>> outcome;  // the writer's, until
    bool settled = false;                                 // it is on disk, or nothing is; guarded by the mutex
  };
  std::mutex mutex;
  std::condition_variable turn;
  std::vector<Waiting*> queue;
  bool writing = false;

  // Applies one entry to the standing of its purse.
  Result<void> apply(const Entry& entry) {
    Standing& standing = standings.try_emplace(key_of(entry.purse), entry.purse).first->second;
    if (entry.kind == "budget") {
      PARLEY_TRY(const Budget budget, parse_budget(entry.content));
      return standing.set_budget(budget);
    }
    holds_charges = true;
    if (entry.kind == "charge" || entry.kind == "void-charge") {
      PARLEY_TRY(const Event event, parse_event(entry.content));
      standing.note_release(event, entry.kind == "charge");
      return {};
    }
    if (entry.kind != "plan" && entry.kind != "void-plan")
      return fail(record.damaged(entry.number, "is of an unknown kind"));
    PARLEY_TRY(const ChargedPlan charged, parse_charged_plan(entry.content));
    standing.note_plan(charged.plan, repricing.counted(charged), entry.kind == "plan");
    return {};
  }

  // Inside the view that was read: whether the record holds the head that was seen of it.
  Result<void> compare(const std::string& file, const std::optional<SeenHead>& seen) {
    if (!seen) return {};
    PARLEY_TRY(const std::optional<std::string> there, record.hash_of(seen->entries));
    if (there == seen->hash) return {};
    return fail(failed(fmt::format(
        "ledger {}: does not hold entry {} as {} has seen it: this is {}, and what was spent is not known, so "
        "nothing is released; put the newest copy back, or, if that is lost and someone answers for "
        "what it had charged, remove {}",
        record.file(), seen->entries, file,
        there ? "another ledger" : fmt::format("an older copy (of {})", counted(end.number, "entry", "entries")),
        file)));
  }

  // Heads are read before the record is: other processes move both on, and a record that is read later holds every head
  // that was written down before.
  Result<void> catch_up_and_compare() {
    PARLEY_TRY(const std::optional<SeenHead> own, read_seen_head(own_head));
    std::optional<SeenHead> other;
    if (!other_head.empty()) {
      PARLEY_TRY(other, read_seen_head(other_head));
    }
    return reading([&]() -> Result<void> {
      PARLEY_CHECK(catch_up());
      PARLEY_CHECK(compare(own_head, own));
      return compare(other_head, other);
    });
  }

  // What was committed is written down elsewhere before anything is drawn. The charge stands when this fails.
  Result<void> write_heads_down() {
    PARLEY_CHECK(write_seen_head(own_head, {end.number, end.hash}));
    return write_other_head_down();
  }
  // From the first charge on: a ledger with budgets alone has nothing to forget, and another may take its place.
  Result<void> write_other_head_down() {
    return other_head.empty() || !holds_charges ? Result<void>{} : write_seen_head(other_head, {end.number, end.hash});
  }

  // Reads what other processes appended. Call inside a transaction before deciding anything.
  Result<void> catch_up() {
    return record.walk(end, [this](const Entry& entry) { return apply(entry); });
  }

  // Writes the entries and, once all of them are in, counts them. A write that fails leaves the transaction to be
  // rolled back (`broken`).
  Result<std::vector<Receipt>> append(std::vector<Entry> entries) {
    broken = true;
    PARLEY_TRY(const RecordEnd appended, record.append(entries, end));
    std::vector<Receipt> receipts;
    for (const Entry& entry : entries) {
      PARLEY_CHECK(apply(entry));
      receipts.push_back({entry.number});
    }
    end = appended;
    broken = false;
    return receipts;
  }

  Result<void> append_budget(const Purse& purse, const Budget& budget) {
    PARLEY_CHECK(append({{.kind = "budget", .purse = purse, .content = to_json(budget)}}));
    return {};
  }

  Result<const Standing*> standing_of(const Purse& purse) const {
    const auto found = standings.find(key_of(purse));
    if (found == standings.end() || !found->second.budget())
      return fail(Error{Fault::kBudgetEnded,
                        fmt::format("no budget was set for {} DP ({}) of data set '{}'; nothing was released",
                                    name(purse.unit), name(purse.neighbours), printable(purse.data_set))});
    return &found->second;
  }

  // A run and key pays once: fresh noise for an old release would be a second release.
  Result<void> check_unused(const Purse& purse, const std::string& run, const std::string& key) {
    PARLEY_TRY(const std::optional<std::int64_t> repeated, record.charge_of(purse, run, key));
    if (!repeated) return {};
    return fail(failed(fmt::format(
        "release '{}' of run '{}' was charged before (entry {}): a repeated request gets the stored answer, "
        "not fresh noise",
        printable(key), printable(run), *repeated)));
  }

  // Checks and appends one request inside the open transaction; all of its charges or none.
  Result<std::vector<Receipt>> admit(const Purse& purse, std::span<const Charge> charges) {
    PARLEY_TRY(const Standing* standing, standing_of(purse));
    std::vector<Event> events;
    std::vector<Entry> entries;
    for (std::size_t c = 0; c < charges.size(); ++c) {
      const Charge& charge = charges[c];
      PARLEY_CHECK(validate(charge.event));
      PARLEY_CHECK(check_unused(purse, charge.run, charge.key));
      for (std::size_t other = 0; other < c; ++other)
        if (charges[other].run == charge.run && charges[other].key == charge.key)
          return fail(failed(fmt::format("release '{}' appears twice in one request", printable(charge.key))));
      events.push_back(charge.event);
      entries.push_back({.kind = charge.claimed ? "charge" : "void-charge",
                         .purse = purse,
                         .run = charge.run,
                         .key = charge.key,
                         .content = privacy::to_json(charge.event)});
    }
    if (!standing->allows(events))
      return fail(budget_ended(standing->spent(),
                               fmt::format("{} x{}{}", name(events.front().mechanism), events.front().count,
                                           events.size() > 1 ? " and what was asked for with it" : " more")));
    return append(std::move(entries));
  }

  Result<PlanReceipt> admit_plan(const Purse& purse, const PlanRequest& request, const Offer& offer) {
    Entry entry{.kind = request.claimed ? "plan" : "void-plan",
                .purse = purse,
                .run = request.run,
                .key = request.key,
                .content = to_json(offer.charged, offer.steps, request.steps)};
    PARLEY_TRY(const std::vector<Receipt> receipts, append({std::move(entry)}));
    return PlanReceipt{receipts.front().entry, offer.steps, offer.charged.price.epsilon, offer.charged.price.delta};
  }

  void forget() {  // after a rollback: everything is read anew
    standings.clear();
    holds_charges = false;
    end = {};
  }

  // body() against one unchanging view of the file.
  template <class Body>
  auto reading(const Body& body) -> decltype(body()) {
    PARLEY_TRY(const Transaction view, Transaction::begin_reading(record.database()));
    return body();
  }

  // body() inside one transaction that begins with what other processes wrote and ends on disk.
  template <class Body>
  Result<void> durably(const Body& body) {
    const auto inside = [&]() -> Result<void> {
      PARLEY_TRY(Transaction transaction, Transaction::begin(record.database()));
      PARLEY_CHECK(catch_up());
      PARLEY_CHECK(body());
      PARLEY_CHECK(record.write_head(end));
      return transaction.commit();
    };
    broken = false;
    auto done = inside();
    if (!done) forget();
    return done;
  }

  void write(const std::vector<Waiting*>& batch) {
    const auto done = durably([&]() -> Result<void> {
      for (Waiting* waiting : batch) {
        waiting->outcome = admit(*waiting->purse, waiting->charges);
        if (broken) return fail(waiting->outcome->error());
      }
      return {};
    });
    const auto seen = done ? write_other_head_down() : done;
    if (!seen)
      for (Waiting* waiting : batch) waiting->outcome = fail(seen.error());
  }

  // The database and the standings belong to one writer or reader at a time.
  std::unique_lock<std::mutex> exclusive() {
    std::unique_lock lock(mutex);
    turn.wait(lock, [this] { return !writing; });
    return lock;
  }

  bool broken = false;
};

Ledger::Ledger(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;
Ledger::~Ledger() = default;

Result<Ledger> Ledger::open(const std::string& directory, const std::string& seen) {
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);  // making the file says what is wrong
  PARLEY_TRY(const bool there, holds_database(directory));
  if (!there) PARLEY_CHECK(make_database(directory, Record::make_file));
  PARLEY_TRY(Record record, Record::open(database_in(directory), Database::Mode::kReadWrite));
  PARLEY_CHECK(mark(directory));
  PARLEY_CHECK(record.prepare_writing());
  auto state = std::make_unique<State>(std::move(record));
  state->own_head = head_file_in(directory);
  state->other_head = seen;
  PARLEY_CHECK(state->catch_up_and_compare());
  PARLEY_CHECK(state->write_heads_down());  // of a process that was killed before it did
  return Ledger(std::move(state));
}

Result<Ledger> Ledger::open_read_only(const std::string& directory, const std::string& seen) {
  PARLEY_TRY(const bool there, holds_database(directory));
  if (!there) return fail(bad_input({directory, 0, ""}, "holds no ledger (ledger.sqlite is not there)"));
  PARLEY_TRY(Record record, Record::open(database_in(directory), Database::Mode::kReadOnly));
  auto state = std::make_unique<State>(std::move(record));
  state->own_head = head_file_in(directory);
  state->other_head = seen;
  PARLEY_CHECK(state->catch_up_and_compare());
  return Ledger(std::move(state));
}

Result<void> Ledger::set_budget(const Purse& purse, const Budget& budget) {
  PARLEY_CHECK(validate(purse, budget));
  const auto lock = state_->exclusive();
  PARLEY_CHECK(state_->durably([&] { return state_->append_budget(purse, budget); }));
  state_->record.settle_log();
  return state_->write_heads_down();
}

Result<bool> Ledger::set_budget_if_none(const Purse& purse, const Budget& budget) {
  PARLEY_CHECK(validate(purse, budget));
  bool set = false;
  const auto lock = state_->exclusive();
  PARLEY_CHECK(state_->durably([&]() -> Result<void> {
    if (state_->standing_of(purse)) return {};
    set = true;
    return state_->append_budget(purse, budget);
  }));
  if (set) {
    state_->record.settle_log();
    PARLEY_CHECK(state_->write_heads_down());
  }
  return set;
}

Result<Receipt> Ledger::charge(const Purse& purse, const Charge& charge) {
  PARLEY_TRY(const std::vector<Receipt> receipts, charge_all(purse, {&charge, 1}));
  return receipts.front();
}

Result<std::vector<Receipt>> Ledger::charge_all(const Purse& purse, std::span<const Charge> charges) {
  if (charges.empty()) return std::vector<Receipt>{};
  State& state = *state_;
  State::Waiting mine{&purse, charges, std::nullopt};
  std::unique_lock lock(state.mutex);
  state.queue.push_back(&mine);
  state.turn.wait(lock, [&] { return mine.settled || !state.writing; });
  if (mine.settled) return *mine.outcome;
  state.writing = true;
  const std::vector<State::Waiting*> batch = std::exchange(state.queue, {});
  lock.unlock();
  try {
    state.write(batch);
  } catch (...) {  // memory ended: nothing was committed, and nobody waits for an answer that will not come
    for (State::Waiting* waiting : batch)
      waiting->outcome = fail(failed("the ledger could not be written; nothing was released"));
    state.forget();
  }
  lock.lock();
  for (State::Waiting* waiting : batch) waiting->settled = true;
  state.writing = false;
  state.turn.notify_all();
  return *mine.outcome;
}

Result<PlanReceipt> Ledger::charge_plan(const Purse& purse, const PlanRequest& request) {
  if (request.steps < 1 || request.steps > kMaxCount)
    return fail(bad_input({.field = "steps"}, fmt::format("must be a whole number from 1 to {}", kMaxCount),
                          fmt::format("{}", request.steps)));
  PARLEY_CHECK(validate(request.plan(purse.neighbours, request.steps)));
  State& state = *state_;
  // The price is worked out between two looks at the file; another process may have paid in between.
  constexpr int kTries = 20;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    std::optional<Standing> standing;
    {
      const auto lock = state.exclusive();
      PARLEY_CHECK(state.reading([&] { return state.catch_up(); }));
      PARLEY_TRY(const Standing* now, state.standing_of(purse));
      PARLEY_CHECK(state.reading([&] { return state.check_unused(purse, request.run, request.key); }));
      standing = *now;
    }
    const Offer offer = offer_for(*standing, purse, request);
    if (offer.steps == 0) return fail(budget_ended(standing->spent(), "a single step of the plan"));
    std::optional<PlanReceipt> receipt;
    const auto lock = state.exclusive();
    PARLEY_CHECK(state.durably([&]() -> Result<void> {
      PARLEY_CHECK(state.check_unused(purse, request.run, request.key));
      PARLEY_TRY(const Standing* now, state.standing_of(purse));
      if (!now->allows(offer.charged.plan, offer.charged.price)) return {};
      PARLEY_TRY(receipt, state.admit_plan(purse, request, offer));
      return {};
    }));
    if (receipt) {
      state.record.settle_log();
      PARLEY_CHECK(state.write_heads_down());
      return *receipt;
    }
  }
  return fail(failed("the ledger is busy: other runs kept charging while this plan was priced; nothing was released"));
}

Result<std::int64_t> Ledger::steps_that_fit(const Purse& purse, const PlanRequest& request) {
  const auto lock = state_->exclusive();
  PARLEY_CHECK(state_->reading([&] { return state_->catch_up(); }));
  const auto standing = state_->standing_of(purse);
  return standing ? offer_for(**standing, purse, request).steps : request.steps;
}

Result<PlanReceipt> Ledger::quote(const Purse& purse, const PlanRequest& request) {
  const auto lock = state_->exclusive();
  PARLEY_CHECK(state_->reading([&] { return state_->catch_up(); }));
  PARLEY_TRY(const Standing* standing, state_->standing_of(purse));
  const Offer offer = offer_for(*standing, purse, request);
  if (offer.steps == 0) return fail(budget_ended(standing->spent(), "a single step of the plan"));
  return PlanReceipt{0, offer.steps, offer.charged.price.epsilon, offer.charged.price.delta};
}

Result<std::optional<PaidPlan>> Ledger::paid_plan(const Purse& purse, const std::string& run, const std::string& key) {
  const auto lock = state_->exclusive();
  PARLEY_CHECK(state_->reading([&] { return state_->catch_up(); }));  // no entry is believed whose link does not hold
  PARLEY_TRY(const std::optional<Entry> entry, state_->record.plan_of(purse, run, key));
  if (!entry) return std::nullopt;
  PARLEY_TRY(ChargedPlan charged, parse_charged_plan(entry->content));
  const Price price = state_->repricing.counted(charged);
  // What was drawn of it is gone; what was not stays here.
  if (price.epsilon > price_in(charged).epsilon) {
    PARLEY_TRY(const Standing* standing, state_->standing_of(purse));
    if (standing->spent().overspent)
      return fail(budget_ended(
          standing->spent(),
          fmt::format("run '{}' to go on: an earlier version priced its plan at epsilon {}, and it costs {}",
                      printable(run), charged.price.epsilon, price.epsilon)));
  }
  return PaidPlan{
      {entry->number, charged.steps, price.epsilon, price.delta}, std::move(charged.plan), entry->kind == "plan"};
}

Result<bool> Ledger::knows(const Purse& purse, const std::string& run) {
  const auto lock = state_->exclusive();
  return state_->record.knows(purse, run);
}

Result<void> Ledger::mark_answer(const Purse& purse, const std::string& run, std::int64_t round,
                                 std::string_view answer) {
  const auto lock = state_->exclusive();
  return state_->record.mark_answer(purse, run, round, answer);
}

Result<Spent> Ledger::spent(const Purse& purse) {
  const auto lock = state_->exclusive();
  PARLEY_CHECK(state_->reading([&] { return state_->catch_up(); }));
  const auto found = state_->standings.find(key_of(purse));
  if (found == state_->standings.end()) return Spent{.purse = purse};
  return found->second.spent();
}

Result<std::vector<Spent>> Ledger::purses() {
  const auto lock = state_->exclusive();
  PARLEY_CHECK(state_->reading([&] { return state_->catch_up(); }));
  std::vector<Spent> all;
  for (const auto& [key, standing] : state_->standings) all.push_back(standing.spent());
  return all;
}

Result<std::vector<Entry>> Ledger::entries() {
  const auto lock = state_->exclusive();
  std::vector<Entry> all;
  RecordEnd end;
  PARLEY_CHECK(state_->reading([&] {
    return state_->record.walk(end, [&](const Entry& entry) -> Result<void> {
      all.push_back(entry);
      return {};
    });
  }));
  return all;
}

Result<Audit> Ledger::audit() {
  const auto lock = state_->exclusive();
  PARLEY_CHECK(state_->record.check_integrity());
  Audit audit;
  RecordEnd end;
  PARLEY_CHECK(state_->reading([&] {
    return state_->record.walk(end, [&](const Entry& entry) -> Result<void> {
      if (entry.kind.ends_with("charge")) PARLEY_CHECK(parse_event(entry.content));
      if (!entry.kind.ends_with("plan")) return {};
      PARLEY_TRY(const ChargedPlan charged, parse_charged_plan(entry.content));
      const Repriced repriced = state_->repricing.of(charged);
      if (repriced.too_low)
        audit.too_low.push_back(
            {entry.number, entry.purse, entry.run, charged.price.epsilon, charged.price.delta, repriced.price.epsilon});
      return {};
    });
  }));
  audit.entries = end.number;
  audit.head = end.hash;
  return audit;
}

Result<std::string> Ledger::verify() {
  PARLEY_TRY(const Audit audit, this->audit());
  if (audit.too_low.empty()) return audit.head;
  return fail(state_->record.damaged(audit.too_low.front().entry, "states a price that does not cover its releases"));
}

}  // namespace parley::privacy
