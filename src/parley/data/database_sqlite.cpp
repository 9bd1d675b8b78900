// Tables and views of SQLite. The file is opened for reading only, and read in one transaction.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

#include "parley/core/text.h"
#include "parley/data/database.h"
#include "parley/data/write.h"

namespace parley::data {

namespace {

constexpr int kPatience = 5000;             // milliseconds, while somebody else holds the lock
constexpr std::size_t kPiece = 1 << 16;     // bytes of text at a time
constexpr std::size_t kNamesToShow = 1000;  // more are no help to whoever mistyped one

// As SQLite derives the affinity of a column from its declared type, with what people mean by BOOL.
std::optional<ColumnType> type_of(std::string declared) {
  std::transform(declared.begin(), declared.end(), declared.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  const auto holds = [&](const char* part) { return declared.find(part) != std::string::npos; };
  if (holds("BOOL")) return ColumnType::kBoolean;
  if (holds("INT")) return ColumnType::kInteger;
  if (holds("CHAR") || holds("CLOB") || holds("TEXT") || holds("DATE") || holds("TIME")) return ColumnType::kCategory;
  if (holds("REAL") || holds("FLOA") || holds("DOUB") || holds("NUM") || holds("DEC")) return ColumnType::kNumber;
  return std::nullopt;
}

class SqliteTable final : public DatabaseTable {
 public:
  explicit SqliteTable(DatabaseAddress address) : address_(std::move(address)) {}

  Result<void> open() {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(address_.place.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
    connection_.reset(opened);
    if (code != SQLITE_OK) return fail(refused(opened == nullptr ? "out of memory" : sqlite3_errmsg(opened)));
    sqlite3_busy_timeout(opened, kPatience);
    PARLEY_TRY(Statement view, prepare("BEGIN"));
    if (sqlite3_step(view.get()) != SQLITE_DONE) return fail(refused(sqlite3_errmsg(opened)));
    PARLEY_CHECK(find_table());
    return find_columns();
  }

  Result<void> select(const std::vector<std::size_t>& columns) override {
    std::string names;
    for (const std::size_t j : columns) names += (names.empty() ? "" : ", ") + quoted_identifier(columns_[j].name);
    // An index would give the rows in another order.
    PARLEY_TRY(rows_, prepare(fmt::format("SELECT {} FROM main.{}{}", names, quoted_identifier(address_.table),
                                          is_view_ ? "" : " NOT INDEXED")));
    for (const std::size_t j : columns) selected_.push_back(columns_[j].name);
    return {};
  }

  Result<bool> next(std::string& text) override {
    const std::size_t before = text.size();
    while (text.size() - before < kPiece) {
      const int code = sqlite3_step(rows_.get());
      if (code == SQLITE_DONE) return false;
      if (code != SQLITE_ROW)
        return fail(failed(fmt::format("{}: could not be read to its end: {}", address_.address,
                                       printable(sqlite3_errmsg(connection_.get())))));
      PARLEY_CHECK(append_row(text));
    }
    return true;
  }

 private:
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  [[nodiscard]] Error refused(std::string_view why) const {
    return bad_input({address_.address, 0, ""}, "cannot be read: " + printable(why));
  }

  Result<Statement> prepare(const std::string& sql) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(connection_.get(), sql.c_str(), -1, &made, nullptr) != SQLITE_OK)
      return fail(refused(sqlite3_errmsg(connection_.get())));
    return Statement(made);
  }

  static std::string text(const Statement& statement, int column) {
    const unsigned char* const value = sqlite3_column_text(statement.get(), column);
    if (value == nullptr) return {};
    return {reinterpret_cast<const char*>(value),
            static_cast<std::size_t>(sqlite3_column_bytes(statement.get(), column))};
  }

  Result<std::vector<std::vector<std::string>>> ask(const std::string& sql, int columns) {
    PARLEY_TRY(const Statement statement, prepare(sql));
    if (sqlite3_bind_parameter_count(statement.get()) > 0)
      sqlite3_bind_text(statement.get(), 1, address_.table.data(), static_cast<int>(address_.table.size()),
                        SQLITE_STATIC);
    std::vector<std::vector<std::string>> rows;
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
      rows.emplace_back();
      for (int j = 0; j < columns; ++j) rows.back().push_back(text(statement, j));
    }
    if (code != SQLITE_DONE) return fail(refused(sqlite3_errmsg(connection_.get())));
    return rows;
  }

  Result<void> find_table() {
    PARLEY_TRY(const auto found,
               ask("SELECT name, type FROM main.sqlite_schema WHERE type IN ('table', 'view') AND name = ?1 "
                   "COLLATE NOCASE",
                   2));
    if (!found.empty()) {
      address_.table = found.front()[0];
      is_view_ = found.front()[1] == "view";
      return {};
    }
    PARLEY_TRY(const auto all, ask(fmt::format("SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view') "
                                               "AND name NOT LIKE 'sqlite_%' LIMIT {}",
                                               kNamesToShow),
                                   1));
    std::vector<std::string> names;
    for (const auto& row : all) names.push_back(row[0]);
    return fail(bad_input({address_.address, 0, "table"},
                          "the database has no such table" + (names.empty() ? "" : suggestion(address_.table, names)),
                          address_.table));
  }

  Result<void> find_columns() {
    PARLEY_TRY(const auto found,
               ask("SELECT name, type, pk FROM pragma_table_xinfo(?1, 'main') WHERE hidden IN (0, 2, 3)", 3));
    PARLEY_TRY(const auto foreign, ask("SELECT \"from\" FROM pragma_foreign_key_list(?1, 'main')", 1));
    for (const auto& row : found) {
      const bool refers =
          std::any_of(foreign.begin(), foreign.end(), [&](const auto& key) { return key[0] == row[0]; });
      columns_.push_back({row[0], type_of(row[1]), refers || row[2] != "0"});
    }
    return {};
  }

  Result<void> append_row(std::string& out) {
    const int columns = static_cast<int>(selected_.size());
    for (int j = 0; j < columns; ++j) {
      if (j > 0) out += ',';
      switch (sqlite3_column_type(rows_.get(), j)) {
        case SQLITE_NULL:
          if (columns == 1) out += "\"\"";  // an empty line is no record
          break;
        case SQLITE_INTEGER:
          append_integer(out, sqlite3_column_int64(rows_.get(), j));
          break;
        case SQLITE_FLOAT:
          out += fmt::format("{}", sqlite3_column_double(rows_.get(), j));
          break;
        case SQLITE_TEXT:
          append_cell(out, {reinterpret_cast<const char*>(sqlite3_column_text(rows_.get(), j)),
                            static_cast<std::size_t>(sqlite3_column_bytes(rows_.get(), j))});
          break;
        default:
          return fail(bad_input({address_.address, 0, selected_[static_cast<std::size_t>(j)]},
                                "holds bytes that are no text (a BLOB); declare the column ignore in a schema"));
      }
    }
    out += '\n';
    return {};
  }

  DatabaseAddress address_;
  std::unique_ptr<sqlite3, Close> connection_;
  Statement rows_;
  std::vector<std::string> selected_;
  bool is_view_ = false;
};

}  // namespace

Result<std::unique_ptr<DatabaseTable>> open_sqlite(const DatabaseAddress& address) {
  auto table = std::make_unique<SqliteTable>(address);
  PARLEY_CHECK(table->open());
  return table;
}

}  // namespace parley::data
