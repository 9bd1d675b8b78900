// Where a table of a database is, in the place of a file's path.
//
//   sqlite:shop.db?table=ratings                        the path is as a file's
//   sqlite:///srv/shop.db?table=ratings                 as a URI: an absolute path
//   postgresql://host:5432/db?table=ratings             any connection URI of PostgreSQL, and the table
//   postgresql://ann@host/db?table=lab.results          with its schema; a dot in a name is %2E
//
// A password in an address is refused: addresses stand in jobs, logs and results. PostgreSQL's own places serve:
// PGPASSFILE (or ~/.pgpass), PGPASSWORD, a service file.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"

namespace parley::data {

enum class DatabaseKind { kSqlite, kPostgres };

struct DatabaseAddress {
  DatabaseKind kind = DatabaseKind::kSqlite;
  std::string address;  // as it was given; what errors say
  std::string place;    // a file, or a connection URI without the table
  std::string schema;   // of PostgreSQL; empty: the search path decides
  std::string table;
};

// Whether this is meant as an address of a database, well formed or not.
bool is_database(std::string_view address);
// What is wrong with it; empty when nothing is. It never repeats the address, which may hold a password.
std::string flaw_of_database(std::string_view address);
Result<DatabaseAddress> parse_database(const std::string& address);

// The file that is read: of SQLite its database, of PostgreSQL none, else the path itself.
std::string file_of(const std::string& address);
// An error when `output` is the file of one of these tables or files.
Result<void> refuse_table(const std::string& output, const std::vector<std::string>& inputs);
// The address with another path of the file.
std::string with_file(const std::string& address, const std::string& file);

}  // namespace parley::data
