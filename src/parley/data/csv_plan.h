// What becomes of each column of a CSV file: its schema, given or guessed from the first records, and
// its place among the features.
#pragma once
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/csv_layout.h"
#include "parley/data/load_options.h"
#include "parley/linalg/matrix.h"

namespace parley::data {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using TextSet = std::unordered_set<std::string, TextHash, std::equal_to<>>;

// Numbers for texts, in the order of their first appearance.
class LevelTable {
 public:
  LevelTable() = default;
  explicit LevelTable(const std::vector<std::string>& levels) {
    for (const auto& level : levels) add(level);
  }
  [[nodiscard]] linalg::Index find(std::string_view level) const {  // -1 when it is not there
    const auto at = numbers_.find(level);
    return at == numbers_.end() ? -1 : at->second;
  }
  linalg::Index add(std::string_view level);
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::unordered_map<std::string, linalg::Index, TextHash, std::equal_to<>> numbers_;
  std::vector<std::string> names_;
};

// Categories whose levels nobody listed may have this many.
inline constexpr std::size_t kMostFoundLevels = 1000;
// Likewise classes of a label.
inline constexpr std::size_t kMostFoundClasses = 10000;

enum class CellKind {
  kSkip,
  kNumber,
  kInteger,
  kDate,
  kBoolean,
  kCategory,
  kRealLabel,
  kClassLabel,
  kWeight,
  kId,
  kKey
};

struct CsvColumn {
  std::string name;
  CellKind kind = CellKind::kSkip;
  std::size_t slot = 0;       // of features: place in a packed row, ascending in schema order
  std::size_t indicator = 0;  // of numbers whose missing cells have one: the slot after theirs
  std::size_t category = 0;   // of categories: place among them
  std::size_t key = 0;        // of keys: place among them
  std::size_t schema = 0;     // position in CsvPlan::schema.columns
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  bool refuse_out_of_bounds = false;
  Missing missing = Missing::kError;
  double missing_value = 0;
  DateFormat date_format = DateFormat::kYearMonthDay;
  LevelTable levels;         // and after them the rare ones
  bool open_levels = false;  // levels are collected from the file
  UnknownLevel unknown = UnknownLevel::kRefuse;
  bool mostly_numbers = false;  // as was found, for want of a schema

  [[nodiscard]] bool is_number() const { return is_measured() || kind == CellKind::kBoolean; }
  [[nodiscard]] bool is_measured() const {
    return kind == CellKind::kNumber || kind == CellKind::kInteger || kind == CellKind::kDate;
  }
  [[nodiscard]] bool has_indicator() const { return is_measured() && missing == Missing::kIndicator; }
  [[nodiscard]] bool is_feature() const { return is_number() || kind == CellKind::kCategory; }
};

struct CsvPlan {
  Schema schema;                   // given, or guessed
  std::vector<CsvColumn> columns;  // in file order
  std::size_t slots = 0;
  std::size_t categories = 0;
  std::size_t keys = 0;
  bool has_label = false;
  bool has_weight = false;
  bool has_id = false;
  TextSet missing_markers;
  std::vector<double> missing_numbers;  // markers that are numbers, such as -999
  bool empty_is_missing = false;
  bool guessed = false;  // no schema was given
  bool lenient = false;  // for describe: missing cells and too many levels are not errors
  std::vector<std::string> notes;

  [[nodiscard]] std::vector<std::size_t> by_schema() const;  // file columns in schema order
};

Result<CsvPlan> plan_columns(const CsvLayout& layout, const LoadOptions& options, const std::string& file_name,
                             bool lenient);

// 0 or 1 for the usual words of a boolean; -1 for others.
int boolean_word(std::string_view text);
// One word for each.
bool is_boolean(const std::vector<std::string>& levels);

}  // namespace parley::data
