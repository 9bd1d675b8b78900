#include "parley/data/load.h"

#include "parley/data/chunks.h"
#include "parley/data/csv.h"
#include "parley/data/database_address.h"
#include "parley/data/decompress.h"
#include "parley/data/libsvm.h"
#include "parley/data/sniff.h"
#include "parley/data/table_text.h"

namespace parley::data {

Result<Dataset> load_from(const OpenBytes& open, const std::string& file_name, const LoadOptions& options) {
  Format format = options.format;
  if (format == Format::kDetect && options.schema) format = options.schema->format;
  if (format == Format::kDetect && options.schema && !options.schema->columns.empty()) format = Format::kCsv;
  if (format == Format::kDetect) {
    PARLEY_TRY(format, sniff_format(open, file_name));
  }
  if (format == Format::kLibsvm && options.schema && !options.schema->columns.empty())
    return fail(bad_input({file_name, 0, ""}, "is read as LIBSVM, but its schema names columns"));
  if (format == Format::kLibsvm && !(options.include.empty() && options.exclude.empty()))
    return fail(bad_input({file_name, 0, options.include.empty() ? "data.exclude" : "data.include"},
                          "names columns, and those of a LIBSVM file have numbers only"));
  if (format == Format::kCsv && options.columns && options.columns->is_numbered())
    return fail(bad_input({file_name, 0, ""}, "is read as CSV, whose columns have names; numbered columns are wanted"));
  return format == Format::kLibsvm ? read_libsvm(open, file_name, options) : read_csv(open, file_name, options);
}

Result<Dataset> load(const std::string& path, const LoadOptions& options) {
  if (is_database(path)) return load_database(path, options);
  return load_from([&path] { return open_bytes(path); }, path, options);
}

Result<Dataset> load_text(std::string_view content, const std::string& file_name, const LoadOptions& options) {
  return load_from([&] { return open_bytes(content, file_name); }, file_name, options);
}

LoadOptions options_like(const Dataset& training, LoadOptions options) {
  if (!options.schema || options.schema->columns.empty()) options.schema = training.schema;
  options.classes = training.labels.classes;
  options.for_a_model = true;
  if (training.columns.is_numbered()) options.columns = training.columns;
  return options;
}

}  // namespace parley::data
