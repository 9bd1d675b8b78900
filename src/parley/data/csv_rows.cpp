#include "parley/data/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "parley/core/text.h"
#include "parley/data/labels.h"
#include "parley/data/number.h"
#include "parley/data/plain_cells.h"
#include "parley/data/utf8.h"

namespace parley::data {

namespace {

// A number that is missing, until the whole chunk is read; what cells say is finite.
constexpr double kMissingNumber = std::numeric_limits<double>::quiet_NaN();

struct Extent {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
};

// Of the values that are not missing: a comparison with a missing one is false.
Extent extent_of(const double* values, std::size_t count) {
  constexpr std::size_t kLanes = 8;
  double smallest[kLanes];
  double largest[kLanes];
  std::fill_n(smallest, kLanes, Extent().smallest);
  std::fill_n(largest, kLanes, Extent().largest);
  const auto take = [&](std::size_t lane, double value) {
    smallest[lane] = value < smallest[lane] ? value : smallest[lane];
    largest[lane] = value > largest[lane] ? value : largest[lane];
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) take(lane, values[i + lane]);
  for (; i < count; ++i) take(0, values[i]);
  return {*std::min_element(smallest, smallest + kLanes), *std::max_element(largest, largest + kLanes)};
}

}  // namespace

class CsvRows {
 public:
  CsvRows(std::string_view text, const CsvLayout& layout, const CsvPlan& plan, CsvChunk& out, CsvWorkspace& workspace)
      : text_(text.data()),
        cursor_(text, layout.delimiter),
        layout_(layout),
        plan_(plan),
        out_(out),
        columns_(plan.columns.size()),
        slots_(plan.slots),
        plain_(plan.columns.size()) {
    out_.found.resize(plan.categories);
    out_.keys.resize(plan.keys);
    out_.overflowed.resize(plan.categories);
    out_.counts.resize(plan.columns.size());
    for (const auto& marker : plan.missing_markers) longest_marker_ = std::max(longest_marker_, marker.size());
    // A record has a line feed (the last one need not), and a character for every cell.
    const std::size_t rows = std::min(count_lines(text), text.size() / plan.columns.size() + 1);
    // An odd number of cache lines, so that a row does not lie in a few sets of the cache; no room to spare when
    // there are many columns and few rows.
    stride_ = rows < 64 ? rows | 1 : ((rows + 7) / 8 | 1) * 8;
    if (workspace.size() < stride_ * plan.slots) workspace.resize(stride_ * plan.slots);
    values_ = workspace.data();
    const bool plain_delimiter = std::string_view("\t,;|:").find(layout.delimiter) != std::string_view::npos;
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const CsvColumn& column = plan.columns[j];
      if (!column.is_feature()) continue;
      double* const lands = out.landing == nullptr ? nullptr : out.landing->column(column.slot);
      columns_[j] = lands != nullptr ? lands + out.line : values_ + column.slot * stride_;
      slots_[column.slot] = {columns_[j], lands != nullptr};
      if (column.has_indicator()) slots_[column.indicator] = {values_ + column.indicator * stride_, false};
      const bool checked = column.refuse_out_of_bounds && (column.lower != -kUnbounded || column.upper != kUnbounded);
      if (column.kind == CellKind::kNumber && !checked && plan.missing_numbers.empty() && plain_delimiter)
        plain_[j] = columns_[j];
    }
  }

  void parse() {
    while (!cursor_.at_end()) {
      if (cursor_.skip_line_without_record(layout_.comment)) continue;
      if (!parse_record()) break;
    }
    out_.lines = cursor_.line_feeds();
    if (out_.error != nullptr) return;
    for (std::size_t j = 0; j < columns_.size(); ++j)
      if (plan_.columns[j].is_measured()) finish_numbers(plan_.columns[j], out_.counts[j], columns_[j]);
    out_.features = PackedColumns(slots_, out_.rows);
  }

 private:
  bool reject(const std::string& field, std::string rule, std::string_view value) {
    out_.error = std::make_unique<ChunkError>(ChunkError{cell_line_, field, std::move(rule), std::string(value)});
    return false;
  }

  bool parse_record() {
    drop_ = false;
    const std::size_t wanted = plan_.columns.size();
    const std::size_t record_line = cursor_.line_feeds();
    std::size_t j = 0;
    do {
      if (j < wanted) j = parse_plain_numbers(j);
      cell_line_ = cursor_.line_feeds();
      if (j == wanted) return reject_extra_cells(record_line);
      if (!parse_cell(j)) return false;
      ++j;
    } while (!cursor_.at_record_end());
    if (j != wanted) {
      cell_line_ = record_line;
      return reject_ragged(j);
    }
    if (drop_) {
      ++out_.dropped;
      for (KeyText& key : out_.keys) key.pop_back();
      return true;
    }
    if (plan_.has_label) out_.labels.push_back(label_);
    if (plan_.has_weight) out_.weights.push_back(weight_);
    if (plan_.has_id) out_.ids.push_back(std::move(id_));
    ++out_.rows;
    return true;
  }

  // Cells from j on that are a number and a delimiter. The first other cell, which every record has at its
  // end, is left to parse_cell.
  std::size_t parse_plain_numbers(std::size_t j) {
    if (plain_[j] == nullptr) return j;
    const PlainCells read =
        read_plain_cells(text_, cursor_.p_, cursor_.end_, layout_.delimiter, std::span(plain_).subspan(j), out_.rows);
    cursor_.p_ = read.next;
    return j + read.count;
  }

  // What can be said of a column's numbers once they are all there.
  void finish_numbers(const CsvColumn& column, CellCounts& counts, double* values) {
    const Extent extent = extent_of(values, out_.rows);
    counts.smallest = extent.smallest;
    counts.largest = extent.largest;
    const std::span<double> all(values, out_.rows);
    if (plan_.lenient)
      counts.whole = std::all_of(all.begin(), all.end(),
                                 [](double value) { return value == std::nearbyint(value) || std::isnan(value); });
    if (extent.smallest < column.lower || extent.largest > column.upper)
      for (double& value : all) {
        if (!(value < column.lower || value > column.upper)) continue;
        value = std::clamp(value, column.lower, column.upper);
        ++counts.clipped;
      }
    if (column.has_indicator()) {
      double* const missing = values_ + column.indicator * stride_;
      for (std::size_t i = 0; i < out_.rows; ++i) missing[i] = std::isnan(values[i]) ? 1 : 0;
    }
    if (counts.missing > 0)
      for (double& value : all)
        if (std::isnan(value)) value = column.missing == Missing::kLevel ? kMissingLevel : column.missing_value;
  }

  bool reject_ragged(std::size_t cells) {
    return reject(
        "",
        fmt::format("has {} where the table has {}", counted(cells, "cell"), counted(plan_.columns.size(), "column")),
        "");
  }

  bool reject_extra_cells(std::size_t record_line) {
    std::size_t cells = plan_.columns.size();
    std::string_view cell;
    do {
      ++cells;
    } while (cursor_.read(cell) == CellCursor::Problem::kNone && !cursor_.at_record_end());
    cell_line_ = record_line;
    return reject_ragged(cells);
  }

  bool parse_cell(std::size_t j) {
    const CsvColumn& column = plan_.columns[j];
    CellCounts& counts = out_.counts[j];
    double* const value = columns_[j] == nullptr ? nullptr : columns_[j] + out_.rows;
    switch (column.kind) {
      case CellKind::kNumber:
        return parse_number_cell(column, counts, *value);
      case CellKind::kInteger:
        if (!parse_number_cell(column, counts, *value)) return false;
        return std::isnan(*value) || *value == std::nearbyint(*value) ||
               reject(column.name, "must be an integer", fmt::format("{}", *value));
      case CellKind::kDate:
        return parse_date_cell(column, counts, *value);
      case CellKind::kRealLabel:
        return parse_real_label(column, counts);
      case CellKind::kBoolean:
        return parse_boolean(column, counts, *value);
      case CellKind::kCategory:
        return parse_category(column, counts, *value);
      case CellKind::kClassLabel:
        return parse_class(column, counts);
      case CellKind::kWeight:
        return parse_number_cell(column, counts, weight_) && check_weight(column, counts);
      case CellKind::kId:
        return parse_id(column, counts);
      case CellKind::kKey:
        return parse_key(column, counts);
      case CellKind::kSkip: {
        std::string_view cell;
        return read_text(column, cell);
      }
    }
    return false;
  }

  bool read_text(const CsvColumn& column, std::string_view& cell) {
    switch (cursor_.read(cell)) {
      case CellCursor::Problem::kNone:
        return true;
      case CellCursor::Problem::kTextAfterQuote:
        return reject(column.name, "text follows a closing quote", cell);
      case CellCursor::Problem::kQuoteNotClosed:
        return reject(column.name, "a quote is not closed", cell);
    }
    return false;
  }

  bool is_missing(std::string_view cell) const {
    if (cell.empty()) return plan_.empty_is_missing;
    return cell.size() <= longest_marker_ && plan_.missing_markers.contains(cell);
  }

  bool is_missing(double value) const {
    return std::find(plan_.missing_numbers.begin(), plan_.missing_numbers.end(), value) != plan_.missing_numbers.end();
  }

  // Sets `value` by the column's rule for missing cells.
  bool take_missing(const CsvColumn& column, CellCounts& counts, std::string_view cell, double& value) {
    ++counts.missing;
    switch (column.missing) {
      case Missing::kZero:
      case Missing::kNoMatch:
        value = 0;
        return true;
      case Missing::kValue:
      case Missing::kMiddle:
      case Missing::kIndicator:
        value = column.missing_value;
        return true;
      case Missing::kLevel:
        value = kMissingLevel;
        return true;
      case Missing::kDropRow:
        drop_ = true;
        return true;
      case Missing::kError:
        break;
    }
    return reject(column.name,
                  plan_.guessed
                      ? "missing value; a schema can give a rule for it (missing = \"zero\", \"drop-row\", a number)"
                      : "missing value, and the schema's rule for it is error",
                  cell);
  }

  bool take_missing_number(const CsvColumn& column, CellCounts& counts, std::string_view cell, double& value) {
    const bool taken = take_missing(column, counts, cell, value);
    value = kMissingNumber;
    return taken;
  }

  // A finite number within its bounds where those are a rule, or kMissingNumber.
  bool parse_number_cell(const CsvColumn& column, CellCounts& counts, double& value) {
    cursor_.skip_blanks();
    const char* const begin = cursor_.p_;
    const ParsedNumber parsed = parse_number(begin, cursor_.end_);
    cursor_.p_ = parsed.end;
    if (parsed.error == NumberError::kNone && pass_number_border()) [[likely]] {
      value = parsed.value;
      if (!plan_.missing_numbers.empty() && is_missing(value)) [[unlikely]]
        return take_missing_number(column, counts, {begin, static_cast<std::size_t>(parsed.end - begin)}, value);
      return check_bounds(column, value);
    }
    cursor_.p_ = begin;
    std::string_view cell;
    if (!read_text(column, cell)) return false;
    if (is_missing(cell)) return take_missing_number(column, counts, cell, value);
    const ParsedNumber again = parse_number(cell.data(), cell.data() + cell.size());
    if (again.error == NumberError::kNotFinite) return reject(column.name, "is too large for a number", cell);
    if (again.error == NumberError::kNotANumber || again.end != cell.data() + cell.size())
      return reject(column.name,
                    cell.find(',') != std::string_view::npos
                        ? "must be a finite number, with a decimal point and no commas"
                    : column.mostly_numbers ? "must be a finite number, as most cells of this column are"
                                            : "must be a finite number",
                    cell);
    value = again.value;
    return check_bounds(column, value);
  }

  bool parse_date_cell(const CsvColumn& column, CellCounts& counts, double& value) {
    std::string_view cell;
    if (!read_text(column, cell)) return false;
    if (is_missing(cell)) return take_missing_number(column, counts, cell, value);
    const auto days = parse_date(cell, column.date_format);
    if (!days) return reject(column.name, "must be a date of the calendar, written as the schema says", cell);
    value = *days;
    return !column.refuse_out_of_bounds || (value >= column.lower && value <= column.upper) ||
           reject(column.name,
                  fmt::format("must lie between {} and {}", date_text(column.lower), date_text(column.upper)), cell);
  }

  // After a number: is the cell over? Then go on to the next.
  bool pass_number_border() {
    if (cursor_.p_ != cursor_.end_ && *cursor_.p_ == layout_.delimiter && layout_.delimiter != kBlankRuns) [[likely]] {
      ++cursor_.p_;
      cursor_.at_record_end_ = false;
      return true;
    }
    const char* const stop = cursor_.p_;
    cursor_.skip_blanks();
    if (layout_.delimiter == kBlankRuns && cursor_.p_ == stop && !cursor_.at_line_end()) return false;
    return cursor_.pass_border();
  }

  bool check_bounds(const CsvColumn& column, double value) {
    if (!column.refuse_out_of_bounds || (value >= column.lower && value <= column.upper)) return true;
    return reject(column.name, fmt::format("must lie between {} and {}", column.lower, column.upper),
                  fmt::format("{}", value));
  }

  bool parse_real_label(const CsvColumn& column, CellCounts& counts) {
    if (!parse_number_cell(column, counts, label_)) return false;
    if (std::isnan(label_)) {
      label_ = column.missing_value;
      return true;
    }
    counts.smallest = std::min(counts.smallest, label_);
    counts.largest = std::max(counts.largest, label_);
    if (plan_.lenient && counts.whole) counts.whole = label_ == std::nearbyint(label_);
    if (!(label_ >= column.lower && label_ <= column.upper)) ++counts.clipped;
    return true;
  }

  // A missing one was refused by the schema's rule.
  bool check_weight(const CsvColumn& column, CellCounts& counts) {
    if (!(weight_ >= 0))
      return reject(column.name, "is a record's weight, which must not be negative", fmt::format("{}", weight_));
    if (weight_ <= column.upper && weight_ >= column.lower) return true;
    weight_ = std::clamp(weight_, column.lower, column.upper);
    ++counts.clipped;
    return true;
  }

  static linalg::Index find_level(const LevelTable& levels, std::string_view cell) {
    const linalg::Index code = levels.find(cell);
    return code >= 0 || is_utf8(cell) ? code : levels.find(as_utf8(cell));
  }

  bool parse_boolean(const CsvColumn& column, CellCounts& counts, double& value) {
    std::string_view cell;
    if (!read_text(column, cell)) return false;
    const int found = column.levels.size() > 0 ? find_level(column.levels, cell) : boolean_word(cell);
    if (found >= 0) {
      value = found;
      counts.smallest = std::min(counts.smallest, value);
      counts.largest = std::max(counts.largest, value);
      return true;
    }
    if (is_missing(cell)) return take_missing(column, counts, cell, value);
    return reject(column.name,
                  column.levels.size() > 0
                      ? fmt::format("must be {} or {}", column.levels.names()[0], column.levels.names()[1])
                      : "must be true or false (or yes/no, t/f, y/n, 1/0)",
                  cell);
  }

  bool parse_category(const CsvColumn& column, CellCounts& counts, double& value) {
    std::string_view cell;
    if (!read_text(column, cell)) return false;
    linalg::Index code = kNoLevel;
    if (!take_category(column, counts, cell, code)) return false;
    value = code;
    return true;
  }

  bool take_category(const CsvColumn& column, CellCounts& counts, std::string_view cell, linalg::Index& code) {
    if (!column.open_levels) {
      code = find_level(column.levels, cell);
      if (code >= 0) return true;
    }
    if (is_missing(cell)) {
      double value = 0;
      if (!take_missing(column, counts, cell, value)) return false;
      code = value == kMissingLevel ? kMissingLevel : kNoLevel;
      return true;
    }
    if (!column.open_levels) {
      if (column.unknown == UnknownLevel::kRefuse)
        return reject(column.name, "is not a level of this category" + suggestion(cell, column.levels.names()), cell);
      ++counts.unknown;
      code = column.unknown == UnknownLevel::kOther ? kOtherLevel : kNoLevel;
      return true;
    }
    LevelTable& found = out_.found[column.category];
    code = find_level(found, cell);
    if (code >= 0) return true;
    if (found.size() < kMostFoundLevels) {
      code = found.add(as_utf8(cell));
    } else {
      out_.overflowed[column.category] = true;
      code = kNoLevel;
    }
    return true;
  }

  bool parse_class(const CsvColumn& column, CellCounts& counts) {
    std::string_view cell;
    if (!read_text(column, cell)) return false;
    linalg::Index code = find_level(column.open_levels ? out_.classes : column.levels, cell);
    if (code < 0 && is_missing(cell)) return take_missing(column, counts, cell, label_);
    if (code < 0 && column.open_levels) {
      if (out_.classes.size() >= kMostFoundClasses)
        return reject(
            column.name,
            fmt::format("more than {} different labels; to predict numbers, use task = \"linear\"", kMostFoundClasses),
            cell);
      code = out_.classes.add(as_utf8(cell));
    } else if (code < 0) {
      const std::size_t at = find_class(column.levels.names(), class_name(cell));
      if (at == column.levels.size())
        return reject(column.name, "is not one of the known classes" + suggestion(cell, column.levels.names()), cell);
      code = static_cast<linalg::Index>(at);
    }
    label_ = code;
    return true;
  }

  bool parse_id(const CsvColumn& column, CellCounts& counts) {
    std::string_view cell;
    if (!read_text(column, cell)) return false;
    double unused = 0;
    if (is_missing(cell)) return take_missing(column, counts, cell, unused);
    id_ = cell;
    return true;
  }

  bool parse_key(const CsvColumn& column, CellCounts& counts) {
    std::string_view cell;
    if (!read_text(column, cell)) return false;
    KeyText& keys = out_.keys[column.key];
    if (!is_missing(cell)) {
      keys.append(cell);
      return true;
    }
    keys.append_missing();
    double unused = 0;
    return take_missing(column, counts, cell, unused);
  }

  const char* text_;
  CellCursor cursor_;
  const CsvLayout& layout_;
  const CsvPlan& plan_;
  CsvChunk& out_;
  std::size_t longest_marker_ = 0;
  // Column after column, `stride_` rows each; by file column where its values begin, null when it is not a feature.
  double* values_ = nullptr;
  std::size_t stride_ = 0;
  std::vector<double*> columns_;
  std::vector<PackedColumns::Column> slots_;
  std::vector<double*> plain_;  // likewise, where any finite number will do
  double label_ = 0;
  double weight_ = 1;
  std::string id_;
  bool drop_ = false;
  std::size_t cell_line_ = 0;
};

void CellCounts::add(const CellCounts& other) {
  missing += other.missing;
  clipped += other.clipped;
  unknown += other.unknown;
  smallest = std::min(smallest, other.smallest);
  largest = std::max(largest, other.largest);
  whole = whole && other.whole;
}

void parse_csv_chunk(std::string_view text, const CsvLayout& layout, const CsvPlan& plan, CsvChunk& out,
                     CsvWorkspace& workspace) {
  CsvRows(text, layout, plan, out, workspace).parse();
}

}  // namespace parley::data
