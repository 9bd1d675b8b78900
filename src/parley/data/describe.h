// Looks at a file and drafts its schema. What is taken from the data - types, levels and above all
// bounds - is a guess that a person must confirm before it may count as public.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/schema.h"

namespace parley::data {

struct ColumnSummary {
  std::string name;
  ColumnType type = ColumnType::kNumber;
  std::size_t missing = 0;
  std::size_t distinct = 0;          // categories and labels; 0 when not counted
  double smallest = 0;               // numbers
  double largest = 0;
  bool constant = false;
};

struct Description {
  std::string file;
  Format format = Format::kCsv;
  std::size_t rows = 0;
  std::size_t features = 0;
  std::size_t nonzeros = 0;          // LIBSVM
  Schema draft;
  std::vector<ColumnSummary> columns;  // CSV: every column; LIBSVM: label and all features together
  std::vector<std::string> notes;
};

// `label` names the label column; empty: y, label, target or class when there is one.
Result<Description> describe(const std::string& path, const std::string& label = {});

std::string table(const Description& description);  // for people
std::string json(const Description& description);

}  // namespace parley::data
