// Tables of text: a record a line, cells between delimiters, as spreadsheets, statistics programs and
// databases write them (RFC 4180 and its relatives).
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/csv_plan.h"
#include "parley/data/csv_rows.h"
#include "parley/data/dataset.h"
#include "parley/data/decompress.h"
#include "parley/data/load_options.h"

namespace parley::data {

struct CsvTable {
  Dataset data;
  CsvLayout layout;
  CsvPlan plan;
  std::vector<CellCounts> counts;                // by file column
  std::vector<std::vector<std::string>> levels;  // by file column: categories and class labels, in order
  std::vector<bool> overflowed;                  // by file column: too many levels to list
};

// `lenient` is for a description: missing cells and too many levels are not errors then.
Result<CsvTable> read_csv_table(const OpenBytes& open, const std::string& file_name, const LoadOptions& options,
                                bool lenient);

// The names in the header, or x0, x1, ... where there is none; reads no further than it must.
Result<std::vector<std::string>> csv_names(const OpenBytes& open, const std::string& file_name, const Schema* schema);

Result<Dataset> read_csv(const OpenBytes& open, const std::string& file_name, const LoadOptions& options);

}  // namespace parley::data
