// The record of a ledger in its database: entries that are only appended, each with a hash that covers the one before
// it, and the head, which says where they end. Beside it: how far the answers of each run have left the site.
//
// What is read or written belongs inside a Transaction of database(); what entries mean is ledger.cpp's.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/ledger/charges.h"
#include "parley/privacy/ledger/database.h"
#include "parley/privacy/ledger/entry_text.h"

namespace parley::privacy {

// A place in the record: behind the entry of this number, which has this hash.
struct RecordEnd {
  std::int64_t number = 0;
  std::string hash = std::string(64, '0');
};

class Record {
 public:
  // A whole record without entries, in one file.
  static Result<void> make_file(const std::string& file);
  // Refuses a file of another layout.
  static Result<Record> open(const std::string& file, Database::Mode mode);
  Result<void> prepare_writing();
  // Copies the log into the file, as far as no reader needs the old pages: what is rare and costly (budgets, plans) is
  // then in the file even if the log beside it is lost. It is durable already, so a failure here changes nothing.
  void settle_log() { (void)database_.execute("PRAGMA wal_checkpoint(PASSIVE)"); }

  [[nodiscard]] Database& database() { return database_; }
  [[nodiscard]] const std::string& file() const { return database_.file(); }
  [[nodiscard]] Error damaged(std::int64_t number, std::string_view what) const;

  // Calls visit(entry) for the entries behind `end`, checking each link, and moves `end` on; then checks the head.
  template <class Visit>
  Result<void> walk(RecordEnd& end, const Visit& visit);
  // Writes the entries behind `end` and gives them their numbers, times and hashes. Returns the new end; the
  // head is not written.
  Result<RecordEnd> append(std::vector<Entry>& entries, RecordEnd end);
  Result<void> write_head(const RecordEnd& end);

  // The hash of an entry, if it is there.
  Result<std::optional<std::string>> hash_of(std::int64_t number);
  // The number of the charge that a run has under this key.
  Result<std::optional<std::int64_t>> charge_of(const Purse& purse, const std::string& run, const std::string& key);
  // The plan that a run was charged for under this key; number, kind and content alone.
  Result<std::optional<Entry>> plan_of(const Purse& purse, const std::string& run, const std::string& key);
  Result<bool> knows(const Purse& purse, const std::string& run);
  // Ledger::mark_answer, in a transaction of its own.
  Result<void> mark_answer(const Purse& purse, const std::string& run, std::int64_t round, std::string_view answer);
  Result<void> check_integrity();

 private:
  explicit Record(Database database) : database_(std::move(database)) {}
  Result<void> check_layout();
  Result<Statement> entries_behind(std::int64_t number);
  static Result<Entry> read_row(const Statement& row);
  Result<void> check_head(const RecordEnd& end);

  Database database_;
};

template <class Visit>
Result<void> Record::walk(RecordEnd& end, const Visit& visit) {
  PARLEY_TRY(Statement rows, entries_behind(end.number));
  while (true) {
    PARLEY_TRY(const bool more, rows.step());
    if (!more) break;
    PARLEY_TRY(const Entry entry, read_row(rows));
    if (entry.number != end.number + 1) return fail(damaged(end.number + 1, "is missing"));
    if (linked(end.hash, entry) != entry.hash) return fail(damaged(entry.number, "does not match its hash"));
    PARLEY_CHECK(visit(entry));
    end = {entry.number, entry.hash};
  }
  return check_head(end);
}

}  // namespace parley::privacy
