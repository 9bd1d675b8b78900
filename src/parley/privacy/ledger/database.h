// A thin layer over SQLite: a connection, a prepared statement, a transaction; every failure is a Result.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "parley/core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace parley::privacy {

class Statement {
 public:
  Statement& bind(int position, std::int64_t value);
  Statement& bind(int position, double value);
  Statement& bind(int position, std::string_view text);

  Result<bool> step();  // true while there is a row
  Result<void> run();   // to the end, then ready for new values
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double number(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(std::unique_ptr<sqlite3_stmt, Finalize> statement, std::string file)
      : statement_(std::move(statement)), file_(std::move(file)) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string file_;
};

class Database {
 public:
  enum class Mode { kMake, kReadWrite, kReadOnly };  // only kMake makes a file
  static Result<Database> open(const std::string& file, Mode mode);

  Result<void> execute(const char* sql);
  Result<Statement> prepare(const char* sql);
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  std::unique_ptr<sqlite3, Close> connection_;
  std::string file_;
};

// Takes the write lock at once, so that what is read inside is still true when it is written;
// rolls back unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  static Result<Transaction> begin_reading(Database& database);  // no lock: one unchanging view
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace parley::privacy
