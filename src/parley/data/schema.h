// What is publicly known about a table: the type of each column, the bounds of its values, the levels
// of its categories and what to do with a cell that is missing or out of bounds.
//
//   [table]
//   delimiter = ";"                 # "," ";" "tab" "|" "space"; absent: found in the file
//   header = true                   # absent: found in the file
//   missing = ["", "?", "NA"]       # markers of a missing cell
//   out_of_bounds = "clip"          # clip (and count) | refuse
//
//   [[column]]
//   name = "age"
//   type = "integer"                # number | integer | date | category | boolean | id | key | label |
//                                   # weight | ignore
//   lower = 17                      # public bounds; or bound = B for [-B, B]
//   upper = 90
//   confirmed = true                # false: a guess from the data that a person has not confirmed
//   missing = "error"               # error | zero | middle | indicator | drop-row | a number | level (categories) |
//                                   # no-match (keys)
//   center = true                   # whether scale = "bounds" takes the middle of the bounds off; absent: unless they
//                                   # contain 0
//
// Bounds and levels are public by declaration. Those that a reader found in the data are not:
// confirmed is false for them, and a private run must refuse them.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/date.h"

namespace parley::data {

enum class ColumnType { kNumber, kInteger, kDate, kCategory, kBoolean, kId, kKey, kLabel, kWeight, kIgnore };
std::string_view name(ColumnType type);

enum class Missing {
  kError,
  kZero,       // the number 0; for a category: no level at all
  kValue,      // ColumnSchema::missing_value
  kDropRow,    // the row is left out, and counted
  kLevel,      // categories: a level of its own, "column=(missing)"
  kNoMatch,    // keys: it equals no other
  kMiddle,     // the middle of the bounds
  kIndicator,  // the middle, and one more column "column=(missing)" that is 1 in such rows
};

// What a category does with a level that is not in its list.
enum class UnknownLevel {
  kByUse,  // nothing was stated: refused in a table that is trained on, ignored in one that is predicted
  kRefuse,
  kIgnore,  // the row has no level, and is counted
  kOther,   // it counts as one of the rare levels
};

enum class OutOfBounds { kClip, kRefuse };

struct ColumnSchema {
  std::string name;
  ColumnType type = ColumnType::kNumber;
  std::optional<double> lower;
  std::optional<double> upper;
  std::vector<std::string> levels;  // categories, in the order of their one-hot columns; booleans: {false, true};
                                    // labels: {negative, positive} or the classes
  std::vector<std::string> rare;    // levels of a category that share one column, "column=(other)"
  int min_count = 0;                // where no levels are stated: those of fewer rows are rare. Found in the data
  DateFormat date_format = DateFormat::kYearMonthDay;
  Missing missing = Missing::kError;
  double missing_value = 0;
  UnknownLevel unknown = UnknownLevel::kByUse;
  std::optional<bool> center;
  bool confirmed = true;

  [[nodiscard]] std::optional<double> bound() const;  // B = max(|lower|, |upper|) when both are there
  // The middle of the bounds of a number that scale = "bounds" takes it off; then it is divided by half their distance.
  [[nodiscard]] std::optional<double> middle() const;
  [[nodiscard]] double half_range() const { return 0.5 * (*upper - *lower); }
  [[nodiscard]] bool has_other() const { return !rare.empty() || min_count > 0 || unknown == UnknownLevel::kOther; }
  bool operator==(const ColumnSchema&) const = default;
};

enum class Format { kDetect, kCsv, kLibsvm };

struct Schema {
  Format format = Format::kDetect;
  std::string delimiter;  // one character; " " stands for runs of blanks; empty: found in the file
  std::optional<bool> header;
  int skip_lines = 0;   // lines to leave out before the header
  std::string comment;  // lines that begin with this character are left out
  std::vector<std::string> missing_markers = {"", "?", "NA", "N/A", "NaN", "nan", "null", "NULL"};
  OutOfBounds out_of_bounds = OutOfBounds::kClip;
  std::vector<ColumnSchema> columns;  // in the order of the features they become

  // LIBSVM files have numbers instead of names: one bound for all.
  std::optional<int> features;     // d
  std::optional<int> first_index;  // 0 or 1
  std::optional<double> bound;
  std::optional<double> label_bound;
  bool confirmed = true;  // of `bound` and `label_bound`

  [[nodiscard]] const ColumnSchema* find(std::string_view column) const;
  // Names of what a person has yet to confirm.
  [[nodiscard]] std::vector<std::string> unconfirmed() const;
  bool operator==(const Schema&) const = default;
};

Result<Schema> read_schema(const std::string& path);
Result<Schema> parse_schema(std::string_view text, const std::string& file_name);

// Text that parse_schema reads back to the same schema; unconfirmed guesses carry a comment that says so.
std::string to_toml(const Schema& schema);

}  // namespace parley::data
