// What a reader is told about the table beside its file: what its labels are, which columns are wanted, which bounds
// are public.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "parley/data/catalogue.h"
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
  std::string label;                  // column name; empty: the schema's, else y, label, target or class;
                                      // "first" and "last" name a column of a file without header
  std::vector<std::string> positive;  // classes that become +1; empty: the larger of two numbers or the later name
  std::vector<std::string> classes;   // fixed order (of a training set): other classes are errors
  // a class that no row has is allowed, if classes are listed or follow a convention (-1/1, 0/1)
  bool absent_classes = false;
  bool for_a_model = false;          // that is there: a level that it does not have is counted, and refused by rule
  std::vector<std::string> include;  // columns that become features; empty: all
  std::vector<std::string> exclude;  // columns that do not
  bool columns_lie_apart = false;    // those are names of several tables' columns: this one need not have them
  bool id_may_lack = false;          // a table may lack the schema's id, which is not a feature
  std::vector<CatalogueColumn> catalogue;  // of a database: types of columns where no schema names any
  std::vector<std::string> keys;           // columns that the table is joined by; others of type key are left out
  std::optional<double> bound;             // public bound of features that no schema bounds
  std::optional<double> label_bound;       // likewise of a real label
  std::optional<ColumnNames> columns;      // of a training set: the result has these columns in this order
  std::optional<int> features;             // LIBSVM: d; a larger index is an error
  std::optional<int> first_index;          // LIBSVM: 0 or 1; absent: 0 when index 0 occurs, else 1
};

}  // namespace parley::data
