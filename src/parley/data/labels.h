// Turns the raw labels of a file into what losses want: numbers, -1/+1, or class numbers.
//
// Classes are told apart by value: 1, +1 and 1.0 are one class, called "1". Numeric classes sort by
// number, others by name; of two, the later is +1 unless the positive class is named.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/data/load_options.h"

namespace parley::data {

// "+1" and "1.0" -> "1"; text that is not a number stays as it is.
std::string class_name(std::string_view label);
std::string class_name(double label);

// The position of the class of that name. Where one of two classes is 1, -1 and 0 are spellings of the other. The
// number of classes where there is none.
std::size_t find_class(const std::vector<std::string>& classes, const std::string& name);

// Positions of the names in their order: by number when all are numbers, else by name.
std::vector<std::size_t> level_order(const std::vector<std::string>& names);

struct RawLabels {
  std::vector<double> values;      // numbers; or positions in `names`
  std::vector<std::string> names;  // of distinct classes, any order; empty when values are numbers
};

struct LabelRules {
  LabelKind kind = LabelKind::kBinary;
  std::vector<std::string> positive;
  std::vector<std::string> classes;
  bool absent_classes = false;  // as in LoadOptions
  std::string negative = "0";   // what is not 1 is called by convention; tables have 0, LIBSVM files -1
  Place place;                  // file and label column, for errors
};

// Values beyond their bounds become the bounds, and then `labels` keeps what they were.
std::size_t move_to_bounds(std::vector<double>& values, double lower, double upper, Labels& labels);

struct LabelsAndNotes {
  Labels labels;
  std::vector<std::string> notes;
};

Result<LabelsAndNotes> make_labels(RawLabels raw, const LabelRules& rules);

}  // namespace parley::data
