#include "parley/data/csv_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>

#include "parley/core/text.h"
#include "parley/data/conventions.h"
#include "parley/data/labels.h"
#include "parley/data/number.h"

namespace parley::data {

namespace {

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_number(std::string_view cell) {
  const ParsedNumber parsed = parse_number(cell.data(), cell.data() + cell.size());
  return parsed.error == NumberError::kNone && parsed.end == cell.data() + cell.size();
}

// "3,14", or "1,234" for a thousand and more.
bool is_number_with_comma(std::string_view cell) {
  const std::size_t comma = cell.find(',');
  if (comma == std::string_view::npos || comma == 0 || comma + 1 == cell.size()) return false;
  if (!detail::is_digit(cell[comma - 1]) || !detail::is_digit(cell[comma + 1])) return false;
  std::string digits(cell);
  std::erase(digits, ',');
  return is_number(digits);
}

// The first cell of a column that holds numbers with commas for the most part; empty for any other column.
std::string number_with_comma(const CsvLayout& layout, std::size_t j, const TextSet& missing) {
  std::string first;
  std::size_t present = 0, numbers = 0;
  for (const auto& record : layout.sample) {
    if (j >= record.size() || missing.contains(record[j])) continue;
    ++present;
    const bool comma = is_number_with_comma(record[j]);
    if (comma && first.empty()) first = record[j];
    if (comma || is_number(record[j])) ++numbers;
  }
  return 2 * numbers >= present ? first : std::string();
}

// Nobody wants such a column as a category by accident.
Result<void> check_commas(const CsvLayout& layout, const CsvPlan& plan, const std::string& file_name,
                          std::vector<std::string>& notes) {
  for (std::size_t j = 0; j < layout.names.size(); ++j) {
    if (plan.schema.columns[j].type != ColumnType::kCategory) continue;
    const std::string cell = number_with_comma(layout, j, plan.missing_markers);
    if (cell.empty()) continue;
    const char* const remedy = "looks like numbers with commas; write them with a decimal point and no other marks";
    if (!plan.lenient)
      return fail(bad_input({file_name, 0, layout.names[j]},
                            fmt::format("{}, or declare the column in a schema", remedy), cell));
    notes.push_back(fmt::format("column '{}' {} (got '{}'): drafted as a category", printable(layout.names[j]), remedy,
                                printable(cell)));
  }
  return {};
}

struct SampledCells {
  std::size_t present = 0;
  std::size_t numbers = 0;

  // Most of them, so that a stray word is an error.
  [[nodiscard]] bool are_numbers() const { return 2 * numbers >= present; }
};

SampledCells sampled(const CsvLayout& layout, std::size_t j, const TextSet& missing) {
  SampledCells cells;
  for (const auto& record : layout.sample) {
    if (j >= record.size() || missing.contains(record[j])) continue;
    ++cells.present;
    if (is_number(record[j])) ++cells.numbers;
  }
  return cells;
}

// How the cells of a column are written that are all dates; of two ways the first.
std::optional<DateFormat> sampled_dates(const CsvLayout& layout, std::size_t j, const TextSet& missing) {
  for (const DateFormat format : {DateFormat::kYearMonthDay, DateFormat::kMonthDayYear, DateFormat::kDayMonthYear}) {
    std::size_t dates = 0;
    const bool all = std::all_of(layout.sample.begin(), layout.sample.end(), [&](const auto& record) {
      if (j >= record.size() || missing.contains(record[j])) return true;
      ++dates;
      return parse_date(record[j], format).has_value();
    });
    if (all && dates > 0) return format;
  }
  return std::nullopt;
}

// The type of column j as the sample has it: a number when most cells are numbers, else a category. Whoever describes a
// table is told of dates too.
ColumnSchema guess_column(const CsvLayout& layout, std::size_t j, const TextSet& missing, bool lenient,
                          std::vector<std::string>& notes) {
  ColumnSchema column;
  column.name = layout.names[j];
  const SampledCells cells = sampled(layout, j, missing);
  if (cells.present == 0 && !layout.sample.empty()) {
    column.type = ColumnType::kIgnore;
    notes.push_back(fmt::format("column '{}' is empty and was left out", printable(column.name)));
  } else if (cells.are_numbers()) {
    column.type = ColumnType::kNumber;
  } else if (const auto format = sampled_dates(layout, j, missing); lenient && format) {
    column.type = ColumnType::kDate;
    column.date_format = *format;
    column.confirmed = false;
  } else {
    column.type = ColumnType::kCategory;
    column.missing = Missing::kLevel;
    column.unknown = UnknownLevel::kIgnore;
    column.confirmed = false;
  }
  return column;
}

// A column of which a database's catalogue tells the type.
ColumnSchema known_column(const CatalogueColumn& known) {
  if (known.key) return {.name = known.name, .type = ColumnType::kKey, .missing = Missing::kNoMatch};
  ColumnSchema column{.name = known.name, .type = *known.type};
  if (known.type != ColumnType::kCategory) return column;
  column.missing = Missing::kLevel;
  column.unknown = UnknownLevel::kIgnore;
  column.confirmed = false;
  return column;
}

Schema guess_schema(const CsvLayout& layout, const LoadOptions& options, Schema schema, const TextSet& missing,
                    bool lenient, std::vector<std::string>& notes) {
  bool has_id = false;
  for (std::size_t j = 0; j < layout.names.size(); ++j) {
    if (layout.header && !has_id && is_id_name(layout.names[j])) {
      has_id = true;
      schema.columns.push_back({.name = layout.names[j], .type = ColumnType::kId});
      continue;
    }
    const auto known = std::find_if(options.catalogue.begin(), options.catalogue.end(),
                                    [&](const CatalogueColumn& column) { return column.name == layout.names[j]; });
    if (known != options.catalogue.end() && (known->key || known->type)) {
      schema.columns.push_back(known_column(*known));
      continue;
    }
    schema.columns.push_back(guess_column(layout, j, missing, lenient, notes));
    // A first column without a name is the row number of the program that wrote the table.
    if (j == 0 && layout.header && layout.names[0] == "column1" && schema.columns.back().type == ColumnType::kNumber) {
      schema.columns.back().type = ColumnType::kIgnore;
      notes.emplace_back("the first column has no name: taken for row numbers and left out");
    }
  }
  return schema;
}

// Which file column is the label; none when there is none (an error only when one is required).
Result<std::optional<std::size_t>> find_label(const CsvLayout& layout, const std::vector<std::string>& names,
                                              const Schema& schema, const LoadOptions& options,
                                              const std::string& file_name, std::vector<std::string>& notes) {
  if (options.label_use == LabelUse::kNone) return std::optional<std::size_t>();
  const auto position = [&](std::string_view wanted) -> std::optional<std::size_t> {
    const auto at = std::find(names.begin(), names.end(), wanted);
    if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
    if (!layout.header && wanted == "first") return 0;
    if (!layout.header && wanted == "last") return names.size() - 1;
    return std::nullopt;
  };
  std::string declared;
  for (const auto& column : schema.columns)
    if (column.type == ColumnType::kLabel) declared = column.name;
  if (!options.label.empty()) {
    const auto at = position(options.label);
    if (!declared.empty() && declared != (at ? names[*at] : options.label))
      return fail(bad_input({file_name, 0, "label"},
                            fmt::format("the schema's label is '{}'; another one was asked for", declared),
                            options.label));
    if (at || options.label_use == LabelUse::kOptional) return at;
    return fail(bad_input({file_name, 0, "label"},
                          "label missing: the file has no such column" + suggestion(options.label, names),
                          options.label));
  }
  if (!declared.empty()) {
    const auto at = position(declared);
    if (at || options.label_use == LabelUse::kOptional) return at;
    return fail(bad_input({file_name, 0, "label"},
                          "label missing: the file has no such column" + suggestion(declared, names), declared));
  }
  std::optional<std::size_t> usual;
  for (std::size_t j = 0; layout.header && j < layout.names.size(); ++j) {
    const int rank = label_rank(layout.names[j]);
    if (rank >= 0 && (!usual || rank < label_rank(layout.names[*usual]))) usual = j;
  }
  if (usual) {
    notes.push_back(fmt::format("column '{}' was taken for the label", layout.names[*usual]));
    return usual;
  }
  if (options.label_use == LabelUse::kOptional) return std::optional<std::size_t>();
  return fail(bad_input(
      {file_name, 0, "label"},
      layout.header ? "label missing: no column is named y, label, target or class; name the label column"
                    : "label missing: the file has no header; name the label column (first, last, x0, x1, ...)"));
}

std::vector<std::string> known_classes(const ColumnSchema& column, const LoadOptions& options) {
  // One against the rest: whatever is not positive is negative.
  if (options.labels == LabelKind::kBinary && !options.positive.empty()) return {};
  std::vector<std::string> classes;
  for (const auto& level : options.classes.empty() ? column.levels : options.classes)
    classes.push_back(class_name(level));
  return classes;
}

// Columns that the table is joined by are keys: by the schema, or because they were asked for where there is none.
Result<void> declare_keys(const LoadOptions& options, const std::vector<std::string>& names,
                          const std::string& file_name, CsvPlan& plan) {
  for (const std::string& key : options.keys) {
    if (!is_among(names, key))
      return fail(
          bad_input({file_name, 0, key}, "is missing: the table is joined by this column" + suggestion(key, names)));
    ColumnSchema& column = *std::find_if(plan.schema.columns.begin(), plan.schema.columns.end(),
                                         [&](const ColumnSchema& candidate) { return candidate.name == key; });
    if (plan.guessed && column.type != ColumnType::kLabel)
      column = {.name = key, .type = ColumnType::kKey, .missing = Missing::kNoMatch};
    if (column.type != ColumnType::kKey)
      return fail(bad_input({file_name, 0, key}, "the table is joined by this column, so its type must be \"key\"",
                            name(column.type)));
  }
  return {};
}

bool may_be_feature(ColumnType type) {
  return type == ColumnType::kNumber || type == ColumnType::kInteger || type == ColumnType::kDate ||
         type == ColumnType::kCategory || type == ColumnType::kBoolean;
}

// Columns that the job does not want are left out, as if the schema ignored them.
Result<void> choose_columns(const LoadOptions& options, const std::string& file_name, CsvPlan& plan) {
  std::vector<std::string> names;
  for (const ColumnSchema& column : plan.schema.columns) names.push_back(column.name);
  for (const auto& [key, wanted] : {std::pair{"data.include", &options.include}, {"data.exclude", &options.exclude}})
    for (const std::string& name : *wanted)
      if (!options.columns_lie_apart && !is_among(names, name))
        return fail(bad_input({file_name, 0, key}, "names a column that is not there" + suggestion(name, names), name));
  for (ColumnSchema& column : plan.schema.columns) {
    const bool wanted =
        (options.include.empty() || is_among(options.include, column.name)) && !is_among(options.exclude, column.name);
    if (!wanted && may_be_feature(column.type)) column = {.name = column.name, .type = ColumnType::kIgnore};
  }
  return {};
}

// How the cells of a column are read.
CsvColumn reading(const ColumnSchema& declared, const Schema& schema, const LoadOptions& options) {
  CsvColumn column;
  column.name = declared.name;
  column.missing = declared.missing;
  column.missing_value = declared.missing == Missing::kValue ? declared.missing_value : 0.0;
  if ((declared.missing == Missing::kMiddle || declared.missing == Missing::kIndicator) && declared.bound())
    column.missing_value = 0.5 * *declared.lower + 0.5 * *declared.upper;
  column.date_format = declared.date_format;
  column.refuse_out_of_bounds = schema.out_of_bounds == OutOfBounds::kRefuse;
  column.unknown = declared.unknown;
  if (column.unknown == UnknownLevel::kByUse)
    column.unknown =
        options.for_a_model && declared.type == ColumnType::kCategory ? UnknownLevel::kIgnore : UnknownLevel::kRefuse;
  const auto within = [&](std::optional<double> otherwise) {
    if (declared.bound()) {
      column.lower = *declared.lower;
      column.upper = *declared.upper;
    } else if (otherwise) {
      column.lower = -*otherwise;
      column.upper = *otherwise;
    }
  };
  switch (declared.type) {
    case ColumnType::kNumber:
      column.kind = CellKind::kNumber;
      within(schema.bound ? schema.bound : options.bound);
      break;
    case ColumnType::kInteger:
      column.kind = CellKind::kInteger;
      within(schema.bound ? schema.bound : options.bound);
      break;
    case ColumnType::kDate:
      column.kind = CellKind::kDate;
      within(std::nullopt);
      break;
    case ColumnType::kBoolean:
      column.kind = CellKind::kBoolean;
      // Words that were found in one table stand for others that mean the same in the next.
      if (declared.confirmed || !is_boolean(declared.levels) || boolean_word(declared.levels[0]) != 0)
        column.levels = LevelTable(declared.levels);
      break;
    case ColumnType::kCategory:
      column.kind = CellKind::kCategory;
      column.levels = LevelTable(declared.levels);
      column.open_levels = declared.levels.empty() && declared.rare.empty();
      for (const std::string& level : declared.rare) column.levels.add(level);
      break;
    case ColumnType::kLabel:
      if (options.labels == LabelKind::kReal) {
        column.kind = CellKind::kRealLabel;
        within(schema.label_bound ? schema.label_bound : options.label_bound);
      } else {
        column.kind = CellKind::kClassLabel;
        column.levels = LevelTable(known_classes(declared, options));
        column.open_levels = column.levels.size() == 0;
      }
      break;
    case ColumnType::kWeight:
      column.kind = options.for_a_model ? CellKind::kSkip : CellKind::kWeight;
      within(std::nullopt);
      break;
    case ColumnType::kId:
      column.kind = CellKind::kId;
      break;
    case ColumnType::kKey:
      column.kind = is_among(options.keys, declared.name) ? CellKind::kKey : CellKind::kSkip;
      break;
    case ColumnType::kIgnore:
      column.kind = CellKind::kSkip;
      break;
  }
  return column;
}

// Cells without names are matched by their number: all columns of the schema, or all but the label, the id or both.
Result<std::vector<std::size_t>> match_by_number(const CsvLayout& layout, const Schema& schema,
                                                 const LoadOptions& options, const TextSet& missing,
                                                 const std::string& file_name) {
  const std::size_t cells = layout.names.size();
  const auto wrong = [&](std::string_view why) {
    return fail(bad_input(
        {file_name, layout.data_line, ""},
        fmt::format("the schema has {}, the file has {}{}", counted(schema.columns.size(), "column"), cells, why)));
  };
  std::set<std::vector<std::size_t>> readings;
  for (const auto& [label, id] :
       {std::pair{true, true}, std::pair{false, true}, std::pair{true, false}, std::pair{false, false}}) {
    if ((!label && options.label_use == LabelUse::kRequired) || (!id && !options.id_may_lack)) continue;
    std::vector<std::size_t> positions;
    for (std::size_t k = 0; k < schema.columns.size(); ++k) {
      const ColumnType type = schema.columns[k].type;
      if ((type != ColumnType::kLabel || label) && (type != ColumnType::kId || id)) positions.push_back(k);
    }
    if (positions.size() == cells) readings.insert(std::move(positions));
  }
  if (readings.empty()) return wrong("");
  if (readings.size() == 1) return *readings.begin();
  // One cell lacks, of the label or of the id: the wrong guess would shift the features. Words in a column of numbers
  // rule it out.
  std::erase_if(readings, [&](const std::vector<std::size_t>& positions) {
    for (std::size_t j = 0; j < cells; ++j) {
      const ColumnType type = schema.columns[positions[j]].type;
      const bool numbers = type == ColumnType::kNumber || type == ColumnType::kInteger;
      if (numbers && !sampled(layout, j, missing).are_numbers()) return true;
    }
    return false;
  });
  if (readings.size() == 1) return *readings.begin();
  return wrong(fmt::format(": the label or the id is missing, and it is unclear which; name both{}",
                           schema.header ? "" : ", or a header"));
}

// Position in the schema of every file column.
Result<std::vector<std::size_t>> match(const CsvLayout& layout, const Schema& schema, const LoadOptions& options,
                                       const TextSet& missing, const std::string& file_name) {
  if (!layout.header) return match_by_number(layout, schema, options, missing, file_name);
  std::vector<std::size_t> positions;
  const bool label_may_lack = options.label_use != LabelUse::kRequired;
  std::vector<std::string> known;
  for (const auto& column : schema.columns) known.push_back(column.name);
  for (const auto& name : layout.names) {
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end())
      return fail(bad_input(
          {file_name, layout.data_line - 1, "header"},
          "the schema does not have this column (type = \"ignore\" leaves one out)" + suggestion(name, known), name));
    positions.push_back(static_cast<std::size_t>(at - known.begin()));
  }
  for (std::size_t k = 0; k < known.size(); ++k) {
    const ColumnType type = schema.columns[k].type;
    const bool may_lack = type == ColumnType::kIgnore || (type == ColumnType::kLabel && label_may_lack) ||
                          (type == ColumnType::kId && options.id_may_lack) ||
                          (type == ColumnType::kWeight && options.for_a_model) ||
                          (type == ColumnType::kKey && !is_among(options.keys, known[k]));
    if (!may_lack && std::find(positions.begin(), positions.end(), k) == positions.end())
      return fail(bad_input({file_name, layout.data_line - 1, "header"},
                            type == ColumnType::kLabel ? "label missing: a column of the schema is not in the file"
                                                       : "a column of the schema is not in the file",
                            known[k]));
  }
  return positions;
}

}  // namespace

linalg::Index LevelTable::add(std::string_view level) {
  const auto next = static_cast<linalg::Index>(names_.size());
  const auto [at, is_new] = numbers_.emplace(level, next);
  if (is_new) names_.emplace_back(level);
  return at->second;
}

std::vector<std::size_t> CsvPlan::by_schema() const {
  std::vector<std::size_t> order(columns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return columns[a].schema < columns[b].schema; });
  return order;
}

int boolean_word(std::string_view text) {
  constexpr std::array<std::string_view, 5> kFalse = {"0", "false", "no", "f", "n"};
  constexpr std::array<std::string_view, 5> kTrue = {"1", "true", "yes", "t", "y"};
  if (text.size() > 5) return -1;
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (std::find(kFalse.begin(), kFalse.end(), lower) != kFalse.end()) return 0;
  return std::find(kTrue.begin(), kTrue.end(), lower) != kTrue.end() ? 1 : -1;
}

bool is_boolean(const std::vector<std::string>& levels) {
  return levels.size() == 2 && boolean_word(levels[0]) + boolean_word(levels[1]) == 1;
}

Result<CsvPlan> plan_columns(const CsvLayout& layout, const LoadOptions& options, const std::string& file_name,
                             bool lenient) {
  CsvPlan plan;
  plan.lenient = lenient;
  plan.schema = options.schema.value_or(Schema());
  for (const auto& marker : plan.schema.missing_markers) {
    plan.missing_markers.insert(marker);
    if (const ParsedNumber parsed = parse_number(marker.data(), marker.data() + marker.size());
        parsed.error == NumberError::kNone && parsed.end == marker.data() + marker.size())
      plan.missing_numbers.push_back(parsed.value);
  }
  plan.empty_is_missing = plan.missing_markers.contains(std::string_view());
  plan.guessed = plan.schema.columns.empty();
  if (plan.guessed)
    plan.schema = guess_schema(layout, options, std::move(plan.schema), plan.missing_markers, lenient, plan.notes);
  if (plan.guessed) PARLEY_CHECK(check_commas(layout, plan, file_name, plan.notes));
  PARLEY_TRY(const auto positions, match(layout, plan.schema, options, plan.missing_markers, file_name));
  std::vector<bool> mostly_numbers;
  for (const ColumnSchema& column : plan.schema.columns)
    mostly_numbers.push_back(plan.guessed && column.type == ColumnType::kNumber);
  std::vector<std::string> names;  // of the file's columns; a file without header has the schema's
  for (const std::size_t position : positions) names.push_back(plan.schema.columns[position].name);
  PARLEY_TRY(const auto label, find_label(layout, names, plan.schema, options, file_name, plan.notes));
  for (ColumnSchema& column : plan.schema.columns) {
    const bool is_label = label && &column == &plan.schema.columns[positions[*label]];
    if (is_label && column.type != ColumnType::kLabel) {
      const bool category = column.type == ColumnType::kCategory;
      column.type = ColumnType::kLabel;
      if (plan.guessed || category) column.missing = Missing::kError;
      column.unknown = UnknownLevel::kByUse;
      if (plan.guessed) column.confirmed = true;
      if (column.missing != Missing::kError && column.missing != Missing::kDropRow) column.missing = Missing::kError;
    }
  }
  PARLEY_CHECK(declare_keys(options, names, file_name, plan));
  PARLEY_CHECK(choose_columns(options, file_name, plan));

  for (const std::size_t position : positions) {
    const ColumnSchema& declared = plan.schema.columns[position];
    CsvColumn column = reading(declared, plan.schema, options);
    column.schema = position;
    column.mostly_numbers = mostly_numbers[position];
    if (declared.type == ColumnType::kLabel && !label) column.kind = CellKind::kSkip;
    // A missing class is not a class: its row says nothing about the labels.
    if (lenient && column.missing == Missing::kError && column.kind != CellKind::kId)
      column.missing = column.kind == CellKind::kClassLabel ? Missing::kDropRow : Missing::kZero;
    plan.has_label = plan.has_label || column.kind == CellKind::kRealLabel || column.kind == CellKind::kClassLabel;
    plan.has_weight = plan.has_weight || column.kind == CellKind::kWeight;
    plan.has_id = plan.has_id || column.kind == CellKind::kId;
    if (column.kind == CellKind::kCategory) column.category = plan.categories++;
    if (column.kind == CellKind::kKey) column.key = plan.keys++;
    plan.columns.push_back(std::move(column));
  }
  for (const std::size_t j : plan.by_schema()) {
    CsvColumn& column = plan.columns[j];
    if (column.is_feature()) column.slot = plan.slots++;
    if (column.has_indicator()) column.indicator = plan.slots++;
  }
  return plan;
}

}  // namespace parley::data
