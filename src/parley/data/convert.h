// Converts a table between CSV and LIBSVM, packed or not.
//
//   same format      bytes are passed through (packing may change); LIBSVM numbers can be moved to start at 0 or 1
//   LIBSVM -> CSV    columns y, x<first> .. x<last>; digits of labels and values are kept as they are
//   CSV -> LIBSVM    through the reader: schema or inferred types, one-hot categories; labels that are numbers stay,
//                    two other classes become -1 and +1, more become 0, 1, 2, ...; where most labels are numbers a note
//                    says which is not; a number that is too large or out of bounds is an error, and makes no classes
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/schema.h"
#include "parley/data/write.h"

namespace parley::data {

struct Conversion {
  std::string from;
  std::filesystem::path to;
  Format from_format = Format::kDetect;  // by content
  Format to_format = Format::kDetect;    // by the ending of the name: .csv, .libsvm, .svm
  std::optional<Schema> schema;          // of a CSV file
  std::string label;                     // column of a CSV file; name of the label in a CSV that is written
  std::optional<int> first_index;        // of a LIBSVM file that is written; absent: 1, or as it was
  std::string names_file;                // CSV -> LIBSVM: column names, one a line; empty: not written
  Existing existing = Existing::kRefuse;
  std::string schema_file;  // that the schema was read from, and that is not written over; empty: none
};

struct Converted {
  WrittenTable table;
  Format from = Format::kCsv;
  Format to = Format::kCsv;
  std::vector<std::string> notes;
};

Result<Converted> convert(const Conversion& conversion);

}  // namespace parley::data
