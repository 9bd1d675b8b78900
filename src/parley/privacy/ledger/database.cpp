#include "parley/privacy/ledger/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace parley::privacy {

namespace {

Error database_error(const std::string& file, int code) {
  std::string_view reason;
  Cause cause = Cause::kMachine;
  switch (code & 0xff) {
    // The statements are fixed, so it is the file that does not fit them.
    case SQLITE_ERROR:
      reason = "was tampered with or damaged: its tables are not those of a ledger";
      cause = Cause::kItsOwn;
      break;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      reason = "is damaged or not a ledger";
      cause = Cause::kItsOwn;
      break;
    case SQLITE_READONLY:
      reason = "is read-only: nothing can be charged, so nothing is released";
      break;
    case SQLITE_FULL:
      reason = "cannot grow: the disk is full; nothing was charged";
      break;
    case SQLITE_CANTOPEN:
      reason = "cannot be opened: does the folder exist and may you write there?";
      break;
    case SQLITE_BUSY:
      reason = "is held by another process for too long";
      break;
    case SQLITE_IOERR:
      reason = "cannot be read or written: input/output error";
      break;
    default:
      break;
  }
  return {Fault::kFailed,
          reason.empty() ? fmt::format("ledger {}: {}", file, sqlite3_errstr(code))
                         : fmt::format("ledger {}: {}", file, reason),
          cause};
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}
void Database::Close::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

Statement& Statement::bind(int position, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), position, value);
  return *this;
}

Statement& Statement::bind(int position, double value) {
  sqlite3_bind_double(statement_.get(), position, value);
  return *this;
}

Statement& Statement::bind(int position, std::string_view text) {
  sqlite3_bind_text(statement_.get(), position, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  sqlite3_reset(statement_.get());
  return fail(database_error(file_, code));
}

Result<void> Statement::run() {
  while (true) {
    PARLEY_TRY(const bool more, step());
    if (!more) return {};
  }
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double Statement::number(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return bytes == nullptr
             ? std::string{}
             : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

Result<Database> Database::open(const std::string& file, Mode mode) {
  sqlite3* connection = nullptr;
  const int flags = mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY
                                            : SQLITE_OPEN_READWRITE | (mode == Mode::kMake ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(file.c_str(), &connection, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
  Database database;
  database.connection_.reset(connection);
  database.file_ = file;
  if (code != SQLITE_OK) return fail(database_error(file, code));
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, 60'000);
  return database;
}

Result<void> Database::execute(const char* sql) {
  const int code = sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(database_error(file_, code));
  return {};
}

Result<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(connection_.get(), sql, -1, &statement, nullptr);
  if (code != SQLITE_OK) return fail(database_error(file_, code));
  return Statement(std::unique_ptr<sqlite3_stmt, Statement::Finalize>(statement), file_);
}

Result<Transaction> Transaction::begin(Database& database) {
  PARLEY_CHECK(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Result<Transaction> Transaction::begin_reading(Database& database) {
  PARLEY_CHECK(database.execute("BEGIN"));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) (void)database_->execute("ROLLBACK");
}

Result<void> Transaction::commit() {
  PARLEY_CHECK(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace parley::privacy
