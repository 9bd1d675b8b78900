// A table of a database as the text of a CSV file with a header: whoever reads files reads it. Rows come in the order
// of the primary key where there is one, all from one state of the database; NULL is an empty cell. Names are quoted
// as identifiers, and nothing is ever written.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/catalogue.h"
#include "parley/data/database_address.h"
#include "parley/data/decompress.h"
#include "parley/data/schema.h"

namespace parley::data {

// An open table. One kind of database each: database_sqlite.cpp, database_postgres.cpp.
class DatabaseTable {
 public:
  virtual ~DatabaseTable() = default;
  [[nodiscard]] const std::vector<CatalogueColumn>& columns() const { return columns_; }
  // Begins to read these columns, by their positions.
  virtual Result<void> select(const std::vector<std::size_t>& columns) = 0;
  // Appends records with their line ends, some at a time; false at the end.
  virtual Result<bool> next(std::string& text) = 0;

 protected:
  std::vector<CatalogueColumn> columns_;
};

Result<std::unique_ptr<DatabaseTable>> open_database(const DatabaseAddress& address);
Result<std::unique_ptr<DatabaseTable>> open_sqlite(const DatabaseAddress& address);
Result<std::unique_ptr<DatabaseTable>> open_postgres(const DatabaseAddress& address);

// A name in quotes, as SQL has it: whatever it holds, it names something and is never executed.
std::string quoted_identifier(std::string_view name);

// Those of `wanted` that the table has; all where nothing is stated.
Result<std::unique_ptr<ByteSource>> open_columns(const DatabaseAddress& address,
                                                 const std::optional<std::vector<std::string>>& wanted);

// The schema with what is known of text from a database: how it is written, and that an empty cell is missing.
Schema of_database(Schema schema);

}  // namespace parley::data
