// Reads a table from a file: CSV or LIBSVM, plain or packed with gzip, xz or zstd; which of them is
// found in the content. Two threads, one pass, and an error that names file, line, column, rule and
// value.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/data/schema.h"

namespace parley::data {

enum class LabelKind {
  kReal,     // numbers
  kBinary,   // two classes, -1 and +1
  kClasses,  // class numbers 0..K-1
};

enum class LabelUse {
  kRequired,  // an error when the table has none
  kOptional,  // read when it is there
  kNone,      // a party without labels: LIBSVM labels are left out, no column is taken for a label
};

struct LoadOptions {
  std::optional<Schema> schema;
  Format format = Format::kDetect;
  LabelUse label_use = LabelUse::kRequired;
  LabelKind labels = LabelKind::kBinary;
  std::string label;                   // column name; empty: the schema's, else y, label, target or class;
                                       // "first" and "last" name a column of a file without header
  std::vector<std::string> positive;   // classes that become +1; empty: the larger of two numbers or the later name
  std::vector<std::string> classes;    // fixed order (of a training set): other classes are errors
  bool absent_classes = false;         // one that no row has is no error, if classes are listed or those of a convention (-1/1, 0/1)
  bool id_may_lack = false;            // a table without the schema's id is no error: an id is no feature
  std::optional<double> bound;         // public bound of features that no schema bounds
  std::optional<double> label_bound;   // likewise of a real label
  std::optional<ColumnNames> columns;  // of a training set: the result has these columns in this order
  std::optional<int> features;         // LIBSVM: d; a larger index is an error
  std::optional<int> first_index;      // LIBSVM: 0 or 1; absent: 0 when index 0 occurs, else 1
};

Result<Dataset> load(const std::string& path, const LoadOptions& options);

// From memory, as if it were the content of a file of that name (packed content is unpacked too).
Result<Dataset> load_text(std::string_view content, const std::string& file_name, const LoadOptions& options);

// Options that read another file to the same columns and classes as `training`.
LoadOptions options_like(const Dataset& training, LoadOptions options);

}  // namespace parley::data
