// Tables and views of a PostgreSQL server, by its own client library: what COPY writes as CSV is handed on as it is.
// One read-only transaction that sees one state of the database. Credentials are the library's business (PGPASSFILE,
// PGPASSWORD, service files): this file never sees any.
#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "parley/core/text.h"
#include "parley/data/database.h"

namespace parley::data {

namespace {

constexpr std::size_t kPiece = 1 << 16;  // bytes of text at a time

struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(char* text) const { PQfreemem(text); }
};
using Answer = std::unique_ptr<PGresult, Clear>;

// Numbers of types in PostgreSQL's catalogue, which never change.
constexpr std::string_view kUuid = "2950";
bool is_integer(std::string_view type) {
  return type == "20" || type == "21" || type == "23";  // bigint, smallint, integer
}

// What the library says in lines, in one.
std::string in_one_line(const char* said) {
  std::string out;
  for (std::string_view rest = said; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    if (line.empty() || line.starts_with("LINE ") || line.starts_with('^') || line.starts_with("CONTEXT:")) continue;
    for (const std::string_view prefix : {"ERROR:  ", "FATAL:  "})
      if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
    out += (out.empty() ? "" : "; ") + std::string(line);
  }
  return printable(out, 400);
}

class PostgresTable final : public DatabaseTable {
 public:
  explicit PostgresTable(DatabaseAddress address) : address_(std::move(address)) {}

  Result<void> open() {
    // What stands before "dbname" is a default that the address may override.
    const char* const patience = std::getenv("PGCONNECT_TIMEOUT");
    const std::array names = {"connect_timeout", "fallback_application_name", "dbname", "client_encoding",
                              static_cast<const char*>(nullptr)};
    const std::array values = {patience != nullptr ? patience : "10", "parley", address_.place.c_str(), "UTF8",
                               static_cast<const char*>(nullptr)};
    connection_.reset(PQconnectdbParams(names.data(), values.data(), 1));
    if (PQstatus(connection_.get()) != CONNECTION_OK)
      return fail(bad_input({address_.address, 0, ""},
                            "cannot connect: " + in_one_line(PQerrorMessage(connection_.get())) +
                                (PQconnectionNeedsPassword(connection_.get()) != 0
                                     ? " (a password is found in PGPASSFILE, PGPASSWORD or a service file)"
                                     : "")));
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
    for (const char* statement :
         {"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SET LOCAL synchronize_seqscans = off",
          "SET LOCAL max_parallel_workers_per_gather = 0", "SET LOCAL extra_float_digits = 1",
          "SET LOCAL datestyle = 'ISO'", "SET LOCAL timezone = 'UTC'", "SET LOCAL intervalstyle = 'iso_8601'"}) {
      const Answer done(PQexec(connection_.get(), statement));
      if (PQresultStatus(done.get()) != PGRES_COMMAND_OK) return fail(refused());
    }
    PARLEY_CHECK(find_table());
    return find_columns();
  }

  Result<void> select(const std::vector<std::size_t>& columns) override {
    std::string names;
    for (const std::size_t j : columns) names += (names.empty() ? "" : ", ") + expressions_[j];
    const std::string copy = fmt::format("COPY (SELECT {} FROM {}.{}{}) TO STDOUT WITH (FORMAT csv)", names,
                                         quoted_identifier(address_.schema), quoted_identifier(address_.table), order_);
    const Answer begun(PQexec(connection_.get(), copy.c_str()));
    if (PQresultStatus(begun.get()) != PGRES_COPY_OUT) return fail(refused());
    one_column_ = columns.size() == 1;
    return {};
  }

  Result<bool> next(std::string& text) override {
    const std::size_t before = text.size();
    while (text.size() - before < kPiece) {
      char* row = nullptr;
      const int size = PQgetCopyData(connection_.get(), &row, 0);
      if (size > 0) {
        const std::unique_ptr<char, Clear> kept(row);
        if (one_column_ && size == 1) text += "\"\"";  // a NULL alone: an empty line is no record
        text.append(row, static_cast<std::size_t>(size));
        continue;
      }
      const Answer ended(size == -1 ? PQgetResult(connection_.get()) : nullptr);
      if (size == -1 && PQresultStatus(ended.get()) == PGRES_COMMAND_OK) return false;
      return fail(failed(fmt::format("{}: the server stopped before the end of the table: {}", address_.address,
                                     in_one_line(PQerrorMessage(connection_.get())))));
    }
    return true;
  }

 private:
  [[nodiscard]] Error refused() const {
    return bad_input({address_.address, 0, ""}, "cannot be read: " + in_one_line(PQerrorMessage(connection_.get())));
  }

  Result<Answer> ask(const char* sql, const std::vector<std::string>& values) {
    std::vector<const char*> texts;
    for (const std::string& value : values) texts.push_back(value.c_str());
    Answer answer(PQexecParams(connection_.get(), sql, static_cast<int>(texts.size()), nullptr, texts.data(), nullptr,
                               nullptr, 0));
    if (PQresultStatus(answer.get()) != PGRES_TUPLES_OK) return fail(refused());
    return answer;
  }
  static std::string text(const Answer& answer, int row, int column) { return PQgetvalue(answer.get(), row, column); }

  Result<void> find_table() {
    PARLEY_TRY(const Answer found,
               ask("SELECT c.oid, n.nspname FROM pg_catalog.pg_class c "
                   "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
                   "WHERE c.relname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') "
                   "AND CASE WHEN $2 = '' THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = $2 END",
                   {address_.table, address_.schema}));
    if (PQntuples(found.get()) == 1) {
      oid_ = text(found, 0, 0);
      address_.schema = text(found, 0, 1);
      return {};
    }
    PARLEY_TRY(const Answer all, ask("SELECT c.relname FROM pg_catalog.pg_class c "
                                     "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
                                     "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%' "
                                     "AND n.nspname <> 'information_schema' AND ($1 = '' OR n.nspname = $1) LIMIT 1000",
                                     {address_.schema}));
    std::vector<std::string> names;
    for (int row = 0; row < PQntuples(all.get()); ++row) names.push_back(text(all, row, 0));
    return fail(bad_input({address_.address, 0, "table"},
                          "the database has no such table" + (names.empty() ? "" : suggestion(address_.table, names)),
                          address_.table));
  }

  Result<void> find_columns() {
    PARLEY_TRY(const Answer found,
               ask("SELECT a.attname, t.typcategory, COALESCE(NULLIF(t.typbasetype, 0), t.oid), "
                   "EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.conrelid = a.attrelid "
                   "AND k.contype IN ('p', 'f') AND a.attnum = ANY (k.conkey)) "
                   "FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid "
                   "WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
                   {oid_}));
    for (int row = 0; row < PQntuples(found.get()); ++row) {
      const std::string name = text(found, row, 0);
      const char category = text(found, row, 1).front();
      const std::string type = text(found, row, 2);  // a domain's base
      CatalogueColumn column{name, ColumnType::kIgnore, text(found, row, 3) == "t"};
      if (category == 'N') column.type = is_integer(type) ? ColumnType::kInteger : ColumnType::kNumber;
      if (category == 'B') column.type = ColumnType::kBoolean;
      if (std::string_view("SEDT").find(category) != std::string_view::npos || type == kUuid)
        column.type = ColumnType::kCategory;
      // true and false, as people and schemas write them
      expressions_.push_back(category == 'B' ? fmt::format("CAST({} AS text)", quoted_identifier(name))
                                             : quoted_identifier(name));
      columns_.push_back(std::move(column));
    }
    PARLEY_TRY(
        const Answer primary,
        ask("SELECT a.attname FROM pg_catalog.pg_constraint k, unnest(k.conkey) WITH ORDINALITY AS u (n, place), "
            "pg_catalog.pg_attribute a WHERE k.conrelid = $1::oid AND k.contype = 'p' "
            "AND a.attrelid = k.conrelid AND a.attnum = u.n ORDER BY u.place",
            {oid_}));
    for (int row = 0; row < PQntuples(primary.get()); ++row)
      order_ += (row == 0 ? " ORDER BY " : ", ") + quoted_identifier(text(primary, row, 0));
    return {};
  }

  DatabaseAddress address_;
  std::unique_ptr<PGconn, Clear> connection_;
  std::string oid_;
  std::string order_;
  std::vector<std::string> expressions_;  // by column
  bool one_column_ = false;
};

}  // namespace

Result<std::unique_ptr<DatabaseTable>> open_postgres(const DatabaseAddress& address) {
  auto table = std::make_unique<PostgresTable>(address);
  PARLEY_CHECK(table->open());
  return table;
}

}  // namespace parley::data
