#include "parley/data/table_text.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "parley/data/csv.h"
#include "parley/data/database.h"
#include "parley/data/sniff.h"

namespace parley::data {

namespace {

using Names = std::vector<std::string>;

std::optional<Names> names_in(const Schema& schema, const auto& is_wanted) {
  if (schema.columns.empty()) return std::nullopt;
  Names names;
  for (const ColumnSchema& column : schema.columns)
    if (column.type != ColumnType::kIgnore && is_wanted(column)) names.push_back(column.name);
  return names;
}

// A label or a key that is declared and that nobody asked for stays where it is.
std::optional<Names> names_to_load(const Schema& schema, const LoadOptions& options) {
  return names_in(schema, [&](const ColumnSchema& column) {
    if (column.type == ColumnType::kLabel) return options.label_use != LabelUse::kNone;
    if (column.type != ColumnType::kKey) return true;
    return std::find(options.keys.begin(), options.keys.end(), column.name) != options.keys.end();
  });
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_table(const std::string& address, const Schema& schema) {
  if (!is_database(address)) return open_bytes(address);
  PARLEY_TRY(const DatabaseAddress parsed, parse_database(address));
  return open_columns(parsed, names_in(schema, [](const ColumnSchema&) { return true; }));
}

Schema schema_of_text(const std::string& address, Schema schema) {
  return is_database(address) ? of_database(std::move(schema)) : schema;
}

Result<Format> format_of_text(const std::string& address) {
  if (is_database(address)) return Format::kCsv;
  return sniff_format([&] { return open_bytes(address); }, address);
}

Result<std::vector<std::string>> column_names(const std::string& address, const Schema& schema) {
  if (!is_database(address)) return csv_names([&] { return open_bytes(address); }, address, &schema);
  PARLEY_TRY(const DatabaseAddress parsed, parse_database(address));
  PARLEY_TRY(const auto table, open_database(parsed));
  Names names;
  for (const CatalogueColumn& column : table->columns()) names.push_back(column.name);
  return names;
}

Result<LoadOptions> with_catalogue(const std::string& address, LoadOptions options) {
  if (!is_database(address)) return options;
  if (options.format == Format::kLibsvm || (options.schema && options.schema->format == Format::kLibsvm))
    return fail(bad_input({address, 0, ""}, "is a table with named columns; its schema or the job says LIBSVM"));
  PARLEY_TRY(const DatabaseAddress parsed, parse_database(address));
  options.format = Format::kCsv;
  options.schema = of_database(options.schema.value_or(Schema()));
  if (options.schema->columns.empty()) {
    PARLEY_TRY(const auto table, open_database(parsed));
    options.catalogue = table->columns();
  }
  return options;
}

Result<Dataset> load_database(const std::string& address, const LoadOptions& options) {
  PARLEY_TRY(const LoadOptions reading, with_catalogue(address, options));
  PARLEY_TRY(const DatabaseAddress parsed, parse_database(address));
  const std::optional<Names> wanted = names_to_load(*reading.schema, options);
  PARLEY_TRY(Dataset table, read_csv([&] { return open_columns(parsed, wanted); }, address, reading));
  // How the database writes its text says nothing about the next file.
  const Schema given = options.schema.value_or(Schema());
  table.schema.delimiter = given.delimiter;
  table.schema.header = given.header;
  table.schema.skip_lines = given.skip_lines;
  table.schema.comment = given.comment;
  table.schema.missing_markers = given.missing_markers;
  return table;
}

}  // namespace parley::data
