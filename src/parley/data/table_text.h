// The text of a table by its address: a file's path, or a table of a database (database_address.h).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/decompress.h"
#include "parley/data/load_options.h"
#include "parley/data/schema.h"

namespace parley::data {

// Of a database the columns that the schema names and does not ignore; all where it names none.
Result<std::unique_ptr<ByteSource>> open_table(const std::string& address, const Schema& schema = {});
// The schema by which that text is read: of a database with what is known of how it is written.
Schema schema_of_text(const std::string& address, Schema schema);
// As the content shows; of a database CSV.
Result<Format> format_of_text(const std::string& address);
// The names of the columns of a CSV file or of a database's table; reads no further than it must.
Result<std::vector<std::string>> column_names(const std::string& address, const Schema& schema = {});

// A database's table with what the catalogue says of its columns where the schema names none.
Result<Dataset> load_database(const std::string& address, const LoadOptions& options);
// Options with what the catalogue says; those of a file as they are.
Result<LoadOptions> with_catalogue(const std::string& address, LoadOptions options);

}  // namespace parley::data
