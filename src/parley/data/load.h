// Reads a table from a file: CSV or LIBSVM, plain or packed with gzip, xz or zstd; which of them is found in the
// content. Or from a database, by its address (database_address.h). Two threads, one pass, and an error that names file, line, column, rule and value.
#pragma once
#include <string>
#include <string_view>

#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/data/decompress.h"
#include "parley/data/load_options.h"

namespace parley::data {

Result<Dataset> load(const std::string& path, const LoadOptions& options);

// From text that is opened again for each pass over it; errors call it by that name.
Result<Dataset> load_from(const OpenBytes& open, const std::string& file_name, const LoadOptions& options);
// From memory, as if it were the content of a file of that name (packed content is unpacked too).
Result<Dataset> load_text(std::string_view content, const std::string& file_name, const LoadOptions& options);

// Options that read another file to the same columns and classes as `training`.
LoadOptions options_like(const Dataset& training, LoadOptions options);

}  // namespace parley::data
