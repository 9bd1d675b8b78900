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
  ColumnType type = ColumnType::kNumber;  // in the draft
  std::size_t missing = 0;
  bool has_range = false;  // numbers
  double smallest = 0;
  double largest = 0;
  std::vector<std::string> levels;  // categories, and labels that are names
  bool constant = false;
  std::vector<double> values;  // of numbers: all that occur, ascending, where they are few (kFewValues)
  bool numbers_rows = false;   // whole numbers without a gap, each once
  bool many_words = false;     // more different words than a category may have
};
inline constexpr std::size_t kFewValues = 100;

struct Description {
  std::string file;
  Format format = Format::kCsv;
  std::size_t rows = 0;
  std::size_t features = 0;  // after one-hot
  std::size_t nonzeros = 0;
  std::vector<ColumnSummary> columns;  // CSV: every column; LIBSVM: the label, and all features together
  Schema draft;
  std::vector<std::string> notes;
};

// `label` names the label column, by its name, its number from 1, first or last; empty: y, label, target or class when
// there is one.
Result<Description> describe(const std::string& path, const std::string& label = {});

std::string table(const Description& description);  // for people

// The smallest of 1, 2, 5 times a power of ten that is at least `value` > 0: a bound that says little
// about the data it was taken from.
double round_bound(double value);

}  // namespace parley::data
