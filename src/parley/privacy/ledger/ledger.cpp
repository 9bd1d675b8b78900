#include "parley/privacy/ledger/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

#include "parley/core/text.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/ledger/database.h"
#include "parley/privacy/ledger/entry_text.h"
#include "parley/privacy/ledger/ledger_folder.h"
#include "parley/privacy/ledger/ledger_layout.h"
#include "parley/privacy/ledger/repricing.h"
#include "parley/privacy/ledger/seen_head.h"
#include "parley/privacy/ledger/standing.h"
#include "parley/privacy/ledger/use_of_budget.h"

namespace parley::privacy {

namespace {

const std::string kGenesis(64, '0');

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
        fmt::format("cannot be counted by {} in double precision; plans can, or numbers that are less extreme", name(budget.composition)),
        fmt::format("epsilon {}, delta {}", budget.epsilon.value(), budget.delta.value())));
  return {};
}

// The most steps for which fits(steps) holds, out of 0..most; fits must hold for all fewer steps too.
template <class Fits>
std::int64_t longest_prefix(std::int64_t most, const Fits& fits) {
  if (fits(most)) return most;
  std::int64_t good = 0, bad = most;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace

struct Ledger::State {
  Database database;
  std::map<PurseKey, Standing> standings;
  std::int64_t last = 0;  // number of the newest entry that was read
  std::string head = kGenesis;
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

  Error damaged(std::int64_t number, std::string_view what) const {
    return failed(fmt::format("ledger {}: entry {} {}; the record was tampered with or damaged", database.file(), number, what));
  }

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
    if (entry.kind != "plan" && entry.kind != "void-plan") return fail(damaged(entry.number, "is of an unknown kind"));
    PARLEY_TRY(const ChargedPlan charged, parse_charged_plan(entry.content));
    standing.note_plan(charged.plan, repricing.counted(charged), entry.kind == "plan");
    return {};
  }

  // Inside the view that was read: whether the record holds the head that was seen of it.
  Result<void> compare(const std::string& file, const std::optional<SeenHead>& seen) {
    if (!seen) return {};
    PARLEY_TRY(Statement row, database.prepare("SELECT hash FROM entry WHERE number = ?"));
    row.bind(1, seen->entries);
    PARLEY_TRY(const bool there, row.step());
    if (there && row.text(0) == seen->hash) return {};
    return fail(failed(fmt::format("ledger {}: does not hold entry {} as {} has seen it: this is {}, and what was spent is not known, so "
                                   "nothing is released; put the newest copy back, or, if that is lost and someone answers for "
                                   "what it had charged, remove {}",
                                   database.file(), seen->entries, file,
                                   there ? "another ledger" : fmt::format("an older copy (of {})", counted(last, "entry", "entries")), file)));
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
    PARLEY_CHECK(write_seen_head(own_head, {last, head}));
    return write_other_head_down();
  }
  // From the first charge on: a ledger with budgets alone has nothing to forget, and another may take its place.
  Result<void> write_other_head_down() {
    return other_head.empty() || !holds_charges ? Result<void>{} : write_seen_head(other_head, {last, head});
  }

  static Result<Entry> read_row(const Statement& row) {
    Entry entry;
    entry.number = row.integer(0);
    entry.time = row.integer(1);
    entry.kind = row.text(2);
    entry.purse.data_set = row.text(3);
    const auto unit = unit_named(row.text(4));
    const auto neighbours = neighbours_named(row.text(5));
    if (!unit || !neighbours) return fail(failed(fmt::format("ledger: entry {} names an unknown unit or relation", entry.number)));
    entry.purse.unit = *unit;
    entry.purse.neighbours = *neighbours;
    entry.run = row.text(6);
    entry.key = row.text(7);
    entry.content = row.text(8);
    entry.hash = row.text(9);
    return entry;
  }

  // Calls visit(entry) for the entries after `last`, checking each link; then the head.
  template <class Visit>
  Result<void> walk(std::int64_t& number, std::string& hash, const Visit& visit) {
    PARLEY_TRY(Statement rows, database.prepare("SELECT number, time, kind, data_set, unit, neighbours, run, key, content, hash "
                                                "FROM entry WHERE number > ? ORDER BY number"));
    rows.bind(1, number);
    while (true) {
      PARLEY_TRY(const bool more, rows.step());
      if (!more) break;
      PARLEY_TRY(const Entry entry, read_row(rows));
      if (entry.number != number + 1) return fail(damaged(number + 1, "is missing"));
      if (linked(hash, entry) != entry.hash) return fail(damaged(entry.number, "does not match its hash"));
      PARLEY_CHECK(visit(entry));
      number = entry.number;
      hash = entry.hash;
    }
    PARLEY_TRY(Statement head_row, database.prepare("SELECT number, hash FROM head WHERE one = 1"));
    PARLEY_TRY(const bool present, head_row.step());
    if (!present || head_row.integer(0) != number || head_row.text(1) != hash)
      return fail(damaged(number, "is not the recorded end: entries were cut off"));
    return {};
  }

  // Reads what other processes appended. Call inside a transaction before deciding anything.
  Result<void> catch_up() {
    return walk(last, head, [this](const Entry& entry) { return apply(entry); });
  }

  // Writes the entries and, once all of them are in, counts them. A write that fails leaves the
  // transaction to be rolled back (`broken`).
  Result<std::vector<Receipt>> append(std::vector<Entry> entries) {
    broken = true;
    PARLEY_TRY(Statement insert, database.prepare("INSERT INTO entry VALUES (?,?,?,?,?,?,?,?,?,?)"));
    std::int64_t number = last;
    std::string hash = head;
    for (Entry& entry : entries) {
      entry.number = ++number;
      entry.time = static_cast<std::int64_t>(std::time(nullptr));
      entry.hash = hash = linked(hash, entry);
      insert.bind(1, entry.number).bind(2, entry.time).bind(3, entry.kind).bind(4, entry.purse.data_set);
      insert.bind(5, name(entry.purse.unit)).bind(6, name(entry.purse.neighbours)).bind(7, entry.run);
      insert.bind(8, entry.key).bind(9, entry.content).bind(10, entry.hash);
      PARLEY_CHECK(insert.run());
    }
    std::vector<Receipt> receipts;
    for (const Entry& entry : entries) {
      PARLEY_CHECK(apply(entry));
      receipts.push_back({entry.number});
    }
    last = number;
    head = hash;
    broken = false;
    return receipts;
  }

  Result<void> append_budget(const Purse& purse, const Budget& budget) {
    PARLEY_CHECK(append({{.kind = "budget", .purse = purse, .content = to_json(budget)}}));
    return {};
  }

  Result<void> write_head() {
    PARLEY_TRY(Statement update, database.prepare("UPDATE head SET number = ?, hash = ? WHERE one = 1"));
    update.bind(1, last).bind(2, head);
    return update.run();
  }

  Result<const Standing*> standing_of(const Purse& purse) const {
    const auto found = standings.find(key_of(purse));
    if (found == standings.end() || !found->second.budget())
      return fail(Error{Fault::kBudgetEnded, fmt::format("no budget was set for {} DP ({}) of data set '{}'; nothing was released",
                                                         name(purse.unit), name(purse.neighbours), printable(purse.data_set))});
    return &found->second;
  }

  // A run and key pays once: fresh noise for an old release would be a second release.
  Result<void> check_unused(const Purse& purse, const std::string& run, const std::string& key) {
    PARLEY_TRY(Statement search, database.prepare("SELECT number FROM entry WHERE kind <> 'budget' AND data_set = ? AND unit = ? "
                                                  "AND neighbours = ? AND run = ? AND key = ?"));
    search.bind(1, purse.data_set).bind(2, name(purse.unit)).bind(3, name(purse.neighbours)).bind(4, run).bind(5, key);
    PARLEY_TRY(const bool repeated, search.step());
    if (!repeated) return {};
    return fail(
        failed(fmt::format("release '{}' of run '{}' was charged before (entry {}): a repeated request gets the stored answer, "
                           "not fresh noise",
                           printable(key), printable(run), search.integer(0))));
  }

  static Error budget_ended(const Standing& standing, const Purse& purse, const std::string& wanted) {
    const Budget& budget = *standing.budget();
    return {Fault::kBudgetEnded,
            fmt::format("the budget of data set '{}' (epsilon {}, delta {}, by {}) does not allow {}: {}; nothing was released",
                        printable(purse.data_set), budget.epsilon.value(), budget.delta.value(), name(budget.composition), wanted,
                        use_of_budget(standing.spent()))};
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
      return fail(budget_ended(*standing, purse,
                               fmt::format("{} x{}{}", name(events.front().mechanism), events.front().count,
                                           events.size() > 1 ? " and what was asked for with it" : " more")));
    return append(std::move(entries));
  }

  // The longest prefix of the request that fits what is left now, with its price; computed without holding the file.
  struct Offer {
    std::int64_t steps = 0;
    ChargedPlan charged;
  };
  static Offer offer_for(const Standing& standing, const Purse& purse, const PlanRequest& request) {
    Offer offer;
    const bool by_plans = standing.budget()->composition == Composition::kPlans;
    const Price left = by_plans ? standing.left() : Price{standing.budget()->epsilon.value(), request.delta.value()};
    const auto delta = Delta::make(std::min(request.delta.value(), left.delta));
    const auto priced = [&](ChargedPlan& charged) {
      const auto pure = pure_epsilon(charged.plan);
      // Delta that is used up leaves what needs none.
      const auto price =
          delta ? price_of(charged.plan, *delta, left.epsilon) : (pure ? Result<Price>(Price{*pure, 0}) : fail(pure.error()));
      if (!price || !std::isfinite(price->epsilon)) return false;
      charged.price = *price;
      return true;
    };
    const auto fits = [&](std::int64_t steps) {
      ChargedPlan charged{request.plan(purse.neighbours, steps), {}};
      if (by_plans && !priced(charged)) return false;
      if (!standing.allows(charged.plan, charged.price)) return false;
      if (steps >= offer.steps) offer = {steps, std::move(charged)};
      return true;
    };
    longest_prefix(request.steps, fits);
    // By steps a price decides nothing here, but it is what the run claims, and what counts under a later budget by plans.
    if (offer.steps > 0 && !by_plans && !priced(offer.charged)) return {};
    return offer;
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
    last = 0;
    head = kGenesis;
  }

  // body() against one unchanging view of the file.
  template <class Body>
  auto reading(const Body& body) -> decltype(body()) {
    PARLEY_TRY(const Transaction view, Transaction::begin_reading(database));
    return body();
  }

  // body() inside one transaction that begins with what other processes wrote and ends on disk.
  template <class Body>
  Result<void> durably(const Body& body) {
    const auto inside = [&]() -> Result<void> {
      PARLEY_TRY(Transaction transaction, Transaction::begin(database));
      PARLEY_CHECK(catch_up());
      PARLEY_CHECK(body());
      PARLEY_CHECK(write_head());
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

  // A whole ledger without entries, in one file.
  static Result<void> make_file(const std::string& file) {
    PARLEY_TRY(Database fresh, Database::open(file, Database::Mode::kMake));
    PARLEY_CHECK(fresh.execute("PRAGMA synchronous = FULL"));
    PARLEY_TRY(Transaction transaction, Transaction::begin(fresh));
    PARLEY_CHECK(fresh.execute(kLayout));
    PARLEY_CHECK(fresh.execute(kAnswers));
    PARLEY_CHECK(fresh.execute("INSERT INTO head VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000')"));
    PARLEY_CHECK(fresh.execute(fmt::format("PRAGMA user_version = {}", kLayoutVersion).c_str()));
    PARLEY_CHECK(transaction.commit());
    return fresh.execute("PRAGMA journal_mode = WAL");
  }

  Result<void> check_layout() {
    PARLEY_TRY(Statement version_row, database.prepare("PRAGMA user_version"));
    PARLEY_TRY([[maybe_unused]] const bool row, version_row.step());
    const std::int64_t version = version_row.integer(0);
    PARLEY_CHECK(version_row.run());
    if (version > kLayoutVersion)
      return fail(failed(fmt::format("ledger {}: written by a newer version of Parley (layout {}, this one knows {}); nothing was changed",
                                     database.file(), version, kLayoutVersion)));
    if (version < kLayoutVersion)
      return fail(failed(fmt::format("ledger {}: is not a ledger, or was tampered with (its layout is numbered {}); nothing was changed",
                                     database.file(), version)));
    return {};
  }

  // Full synchronisation of the write-ahead log at every commit: what was charged survives a power cut.
  Result<void> prepare_writing() {
    PARLEY_CHECK(database.execute("PRAGMA journal_mode = WAL"));
    PARLEY_CHECK(database.execute("PRAGMA synchronous = FULL"));
    return database.execute(kAnswers);  // ledgers of earlier versions have no such table
  }

  // Copies the log into ledger.sqlite, as far as no reader needs the old pages: what is rare and costly (budgets, plans)
  // is then in the file even if the log beside it is lost. It is durable already, so a failure here changes nothing.
  void settle_log() { (void)database.execute("PRAGMA wal_checkpoint(PASSIVE)"); }

  // The database and the standings belong to one writer or reader at a time.
  std::unique_lock<std::mutex> exclusive() {
    std::unique_lock lock(mutex);
    turn.wait(lock, [this] { return !writing; });
    return lock;
  }

  bool broken = false;
};

Plan PlanRequest::plan(Neighbours neighbours, std::int64_t first_steps) const {
  Plan whole{neighbours, once};
  for (Event event : step) {
    // A count that overflows is left beyond the limit, and refused there.
    event.count = event.count > kMaxCount / std::max<std::int64_t>(first_steps, 1) ? kMaxCount + 1 : event.count * first_steps;
    whole.events.push_back(event);
  }
  return whole;
}

std::string_view name(Composition composition) {
  return composition == Composition::kSteps ? "steps" : "plans";
}

Ledger::Ledger(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;
Ledger::~Ledger() = default;

Result<Ledger> Ledger::open(const std::string& directory, const std::string& seen) {
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);  // making the file says what is wrong
  PARLEY_TRY(const bool there, holds_database(directory));
  if (!there) PARLEY_CHECK(make_database(directory, State::make_file));
  auto state = std::make_unique<State>();
  PARLEY_TRY(state->database, Database::open(database_in(directory), Database::Mode::kReadWrite));
  PARLEY_CHECK(state->check_layout());
  PARLEY_CHECK(mark(directory));
  PARLEY_CHECK(state->prepare_writing());
  state->own_head = head_file_in(directory);
  state->other_head = seen;
  PARLEY_CHECK(state->catch_up_and_compare());
  PARLEY_CHECK(state->write_heads_down());  // of a process that was killed before it did
  return Ledger(std::move(state));
}

Result<Ledger> Ledger::open_read_only(const std::string& directory, const std::string& seen) {
  PARLEY_TRY(const bool there, holds_database(directory));
  if (!there) return fail(bad_input({directory, 0, ""}, "holds no ledger (ledger.sqlite is not there)"));
  auto state = std::make_unique<State>();
  PARLEY_TRY(state->database, Database::open(database_in(directory), Database::Mode::kReadOnly));
  PARLEY_CHECK(state->check_layout());
  state->own_head = head_file_in(directory);
  state->other_head = seen;
  PARLEY_CHECK(state->catch_up_and_compare());
  return Ledger(std::move(state));
}

Result<void> Ledger::set_budget(const Purse& purse, const Budget& budget) {
  PARLEY_CHECK(validate(purse, budget));
  const auto lock = state_->exclusive();
  PARLEY_CHECK(state_->durably([&] { return state_->append_budget(purse, budget); }));
  state_->settle_log();
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
    state_->settle_log();
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
    for (State::Waiting* waiting : batch) waiting->outcome = fail(failed("the ledger could not be written; nothing was released"));
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
    return fail(
        bad_input({.field = "steps"}, fmt::format("must be a whole number from 1 to {}", kMaxCount), fmt::format("{}", request.steps)));
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
    const State::Offer offer = State::offer_for(*standing, purse, request);
    if (offer.steps == 0) return fail(State::budget_ended(*standing, purse, "a single step of the plan"));
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
      state.settle_log();
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
  return standing ? State::offer_for(**standing, purse, request).steps : request.steps;
}

Result<PlanReceipt> Ledger::quote(const Purse& purse, const PlanRequest& request) {
  const auto lock = state_->exclusive();
  PARLEY_CHECK(state_->reading([&] { return state_->catch_up(); }));
  PARLEY_TRY(const Standing* standing, state_->standing_of(purse));
  const State::Offer offer = State::offer_for(*standing, purse, request);
  if (offer.steps == 0) return fail(State::budget_ended(*standing, purse, "a single step of the plan"));
  return PlanReceipt{0, offer.steps, offer.charged.price.epsilon, offer.charged.price.delta};
}

Result<std::optional<PaidPlan>> Ledger::paid_plan(const Purse& purse, const std::string& run, const std::string& key) {
  const auto lock = state_->exclusive();
  PARLEY_CHECK(state_->reading([&] { return state_->catch_up(); }));  // no entry is believed whose link does not hold
  PARLEY_TRY(Statement search, state_->database.prepare("SELECT number, kind, content FROM entry WHERE kind IN ('plan', 'void-plan') "
                                                        "AND data_set = ? AND unit = ? AND neighbours = ? AND run = ? AND key = ?"));
  search.bind(1, purse.data_set).bind(2, name(purse.unit)).bind(3, name(purse.neighbours)).bind(4, run).bind(5, key);
  PARLEY_TRY(const bool found, search.step());
  if (!found) return std::nullopt;
  PARLEY_TRY(ChargedPlan charged, parse_charged_plan(search.text(2)));
  const Price price = state_->repricing.counted(charged);
  // What was drawn of it is gone; what was not stays here.
  if (price.epsilon > price_in(charged).epsilon) {
    PARLEY_TRY(const Standing* standing, state_->standing_of(purse));
    if (standing->spent().overspent)
      return fail(State::budget_ended(*standing, purse,
                                      fmt::format("run '{}' to go on: an earlier version priced its plan at epsilon {}, and it costs {}",
                                                  printable(run), charged.price.epsilon, price.epsilon)));
  }
  return PaidPlan{{search.integer(0), charged.steps, price.epsilon, price.delta}, std::move(charged.plan), search.text(1) == "plan"};
}

Result<bool> Ledger::knows(const Purse& purse, const std::string& run) {
  const auto lock = state_->exclusive();
  PARLEY_TRY(Statement search, state_->database.prepare("SELECT 1 FROM entry WHERE kind <> 'budget' AND data_set = ? AND unit = ? "
                                                        "AND neighbours = ? AND run = ?"));
  search.bind(1, purse.data_set).bind(2, name(purse.unit)).bind(3, name(purse.neighbours)).bind(4, run);
  return search.step();
}

Result<void> Ledger::mark_answer(const Purse& purse, const std::string& run, std::int64_t round, std::string_view answer) {
  const auto lock = state_->exclusive();
  Database& database = state_->database;
  const auto bound = [&](Statement& statement) -> Statement& {
    return statement.bind(1, purse.data_set).bind(2, name(purse.unit)).bind(3, name(purse.neighbours)).bind(4, run);
  };
  PARLEY_TRY(Transaction transaction, Transaction::begin(database));
  const std::string digest = digest_of(answer);
  {
    PARLEY_TRY(Statement search,
               database.prepare("SELECT round, digest FROM answer WHERE data_set = ? AND unit = ? AND neighbours = ? AND run = ?"));
    PARLEY_TRY(const bool found, bound(search).step());
    const std::int64_t left = found ? search.integer(0) : 0;
    if (found && left == round && search.text(1) == digest) return {};
    if (left > round || (found && left == round))
      return fail(
          failed(fmt::format("run '{}': the answer of round {} has left this site before, and what was kept of the run does not hold it; "
                             "the run cannot go on without releasing anew",
                             printable(run), left)));
    if (round == 0) return {};
  }
  PARLEY_TRY(Statement mark, database.prepare("INSERT OR REPLACE INTO answer VALUES (?,?,?,?,?,?)"));
  PARLEY_CHECK(bound(mark).bind(5, round).bind(6, digest).run());
  return transaction.commit();
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
  std::int64_t number = 0;
  std::string hash = kGenesis;
  PARLEY_CHECK(state_->reading([&] {
    return state_->walk(number, hash, [&](const Entry& entry) -> Result<void> {
      all.push_back(entry);
      return {};
    });
  }));
  return all;
}

Result<Audit> Ledger::audit() {
  const auto lock = state_->exclusive();
  PARLEY_TRY(Statement check, state_->database.prepare("PRAGMA integrity_check"));
  PARLEY_TRY([[maybe_unused]] const bool row, check.step());
  if (check.text(0) != "ok") return fail(failed(fmt::format("ledger {}: {}", state_->database.file(), printable(check.text(0)))));
  Audit audit{.head = kGenesis};
  PARLEY_CHECK(state_->reading([&] {
    return state_->walk(audit.entries, audit.head, [&](const Entry& entry) -> Result<void> {
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
  return audit;
}

Result<std::string> Ledger::verify() {
  PARLEY_TRY(const Audit audit, this->audit());
  if (audit.too_low.empty()) return audit.head;
  return fail(state_->damaged(audit.too_low.front().entry, "states a price that does not cover its releases"));
}

}  // namespace parley::privacy
