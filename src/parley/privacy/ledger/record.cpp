#include "parley/privacy/ledger/record.h"

#include <fmt/format.h>

#include <ctime>

#include "parley/core/text.h"
#include "parley/privacy/ledger/digest.h"
#include "parley/privacy/ledger/ledger_layout.h"

namespace parley::privacy {

namespace {

// The purse in the four columns that name it and a run.
Statement& bind_run(Statement& statement, const Purse& purse, const std::string& run) {
  return statement.bind(1, purse.data_set).bind(2, name(purse.unit)).bind(3, name(purse.neighbours)).bind(4, run);
}

}  // namespace

Result<void> Record::make_file(const std::string& file) {
  PARLEY_TRY(Database fresh, Database::open(file, Database::Mode::kMake));
  PARLEY_CHECK(fresh.execute("PRAGMA synchronous = FULL"));
  PARLEY_TRY(Transaction transaction, Transaction::begin(fresh));
  PARLEY_CHECK(fresh.execute(kLayout));
  PARLEY_CHECK(fresh.execute(kAnswers));
  PARLEY_CHECK(fresh.execute(fmt::format("INSERT INTO head VALUES (1, 0, '{}')", RecordEnd{}.hash).c_str()));
  PARLEY_CHECK(fresh.execute(fmt::format("PRAGMA user_version = {}", kLayoutVersion).c_str()));
  PARLEY_CHECK(transaction.commit());
  return fresh.execute("PRAGMA journal_mode = WAL");
}

Result<Record> Record::open(const std::string& file, Database::Mode mode) {
  PARLEY_TRY(Database database, Database::open(file, mode));
  Record record(std::move(database));
  PARLEY_CHECK(record.check_layout());
  return record;
}

Result<void> Record::check_layout() {
  PARLEY_TRY(Statement version_row, database_.prepare("PRAGMA user_version"));
  PARLEY_TRY([[maybe_unused]] const bool row, version_row.step());
  const std::int64_t version = version_row.integer(0);
  PARLEY_CHECK(version_row.run());
  if (version > kLayoutVersion)
    return fail(failed(fmt::format(
        "ledger {}: written by a newer version of Parley (layout {}, this one knows {}); nothing was changed", file(),
        version, kLayoutVersion)));
  if (version < kLayoutVersion)
    return fail(failed(
        fmt::format("ledger {}: is not a ledger, or was tampered with (its layout is numbered {}); nothing was changed",
                    file(), version)));
  return {};
}

// Full synchronisation of the write-ahead log at every commit: what was charged survives a power cut.
Result<void> Record::prepare_writing() {
  PARLEY_CHECK(database_.execute("PRAGMA journal_mode = WAL"));
  PARLEY_CHECK(database_.execute("PRAGMA synchronous = FULL"));
  return database_.execute(kAnswers);  // ledgers of earlier versions have no such table
}

Error Record::damaged(std::int64_t number, std::string_view what) const {
  return failed(fmt::format("ledger {}: entry {} {}; the record was tampered with or damaged", file(), number, what));
}

Result<Statement> Record::entries_behind(std::int64_t number) {
  PARLEY_TRY(Statement rows,
             database_.prepare("SELECT number, time, kind, data_set, unit, neighbours, run, key, content, hash "
                               "FROM entry WHERE number > ? ORDER BY number"));
  rows.bind(1, number);
  return rows;
}

Result<Entry> Record::read_row(const Statement& row) {
  Entry entry;
  entry.number = row.integer(0);
  entry.time = row.integer(1);
  entry.kind = row.text(2);
  entry.purse.data_set = row.text(3);
  const auto unit = unit_named(row.text(4));
  const auto neighbours = neighbours_named(row.text(5));
  if (!unit || !neighbours)
    return fail(failed(fmt::format("ledger: entry {} names an unknown unit or relation", entry.number)));
  entry.purse.unit = *unit;
  entry.purse.neighbours = *neighbours;
  entry.run = row.text(6);
  entry.key = row.text(7);
  entry.content = row.text(8);
  entry.hash = row.text(9);
  return entry;
}

Result<void> Record::check_head(const RecordEnd& end) {
  PARLEY_TRY(Statement head_row, database_.prepare("SELECT number, hash FROM head WHERE one = 1"));
  PARLEY_TRY(const bool present, head_row.step());
  if (!present || head_row.integer(0) != end.number || head_row.text(1) != end.hash)
    return fail(damaged(end.number, "is not the recorded end: entries were cut off"));
  return {};
}

Result<RecordEnd> Record::append(std::vector<Entry>& entries, RecordEnd end) {
  PARLEY_TRY(Statement insert, database_.prepare("INSERT INTO entry VALUES (?,?,?,?,?,?,?,?,?,?)"));
  for (Entry& entry : entries) {
    entry.number = ++end.number;
    entry.time = static_cast<std::int64_t>(std::time(nullptr));
    entry.hash = end.hash = linked(end.hash, entry);
    insert.bind(1, entry.number).bind(2, entry.time).bind(3, entry.kind).bind(4, entry.purse.data_set);
    insert.bind(5, name(entry.purse.unit)).bind(6, name(entry.purse.neighbours)).bind(7, entry.run);
    insert.bind(8, entry.key).bind(9, entry.content).bind(10, entry.hash);
    PARLEY_CHECK(insert.run());
  }
  return end;
}

Result<void> Record::write_head(const RecordEnd& end) {
  PARLEY_TRY(Statement update, database_.prepare("UPDATE head SET number = ?, hash = ? WHERE one = 1"));
  update.bind(1, end.number).bind(2, end.hash);
  return update.run();
}

Result<std::optional<std::string>> Record::hash_of(std::int64_t number) {
  PARLEY_TRY(Statement row, database_.prepare("SELECT hash FROM entry WHERE number = ?"));
  row.bind(1, number);
  PARLEY_TRY(const bool there, row.step());
  return there ? std::optional(row.text(0)) : std::nullopt;
}

Result<std::optional<std::int64_t>> Record::charge_of(const Purse& purse, const std::string& run,
                                                      const std::string& key) {
  PARLEY_TRY(Statement search,
             database_.prepare("SELECT number FROM entry WHERE kind <> 'budget' AND data_set = ? AND unit = ? "
                               "AND neighbours = ? AND run = ? AND key = ?"));
  PARLEY_TRY(const bool found, bind_run(search, purse, run).bind(5, key).step());
  return found ? std::optional(search.integer(0)) : std::nullopt;
}

Result<std::optional<Entry>> Record::plan_of(const Purse& purse, const std::string& run, const std::string& key) {
  PARLEY_TRY(Statement search,
             database_.prepare("SELECT number, kind, content FROM entry WHERE kind IN ('plan', 'void-plan') "
                               "AND data_set = ? AND unit = ? AND neighbours = ? AND run = ? AND key = ?"));
  PARLEY_TRY(const bool found, bind_run(search, purse, run).bind(5, key).step());
  if (!found) return std::nullopt;
  Entry plan;
  plan.number = search.integer(0);
  plan.kind = search.text(1);
  plan.content = search.text(2);
  return plan;
}

Result<bool> Record::knows(const Purse& purse, const std::string& run) {
  PARLEY_TRY(Statement search,
             database_.prepare("SELECT 1 FROM entry WHERE kind <> 'budget' AND data_set = ? AND unit = ? "
                               "AND neighbours = ? AND run = ?"));
  return bind_run(search, purse, run).step();
}

Result<void> Record::mark_answer(const Purse& purse, const std::string& run, std::int64_t round,
                                 std::string_view answer) {
  PARLEY_TRY(Transaction transaction, Transaction::begin(database_));
  const std::string digest = digest_of(answer);
  {
    PARLEY_TRY(Statement search,
               database_.prepare(
                   "SELECT round, digest FROM answer WHERE data_set = ? AND unit = ? AND neighbours = ? AND run = ?"));
    PARLEY_TRY(const bool found, bind_run(search, purse, run).step());
    const std::int64_t left = found ? search.integer(0) : 0;
    if (found && left == round && search.text(1) == digest) return {};
    if (left > round || (found && left == round))
      return fail(failed(fmt::format(
          "run '{}': the answer of round {} has left this site before, and what was kept of the run does not hold it; "
          "the run cannot go on without releasing anew",
          printable(run), left)));
    if (round == 0) return {};
  }
  PARLEY_TRY(Statement mark, database_.prepare("INSERT OR REPLACE INTO answer VALUES (?,?,?,?,?,?)"));
  PARLEY_CHECK(bind_run(mark, purse, run).bind(5, round).bind(6, digest).run());
  return transaction.commit();
}

Result<void> Record::check_integrity() {
  PARLEY_TRY(Statement check, database_.prepare("PRAGMA integrity_check"));
  PARLEY_TRY([[maybe_unused]] const bool row, check.step());
  if (check.text(0) == "ok") return {};
  return fail(failed(fmt::format("ledger {}: {}", file(), printable(check.text(0)))));
}

}  // namespace parley::privacy
