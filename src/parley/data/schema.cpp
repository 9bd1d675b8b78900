#include "parley/data/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "parley/core/files.h"
#include "parley/core/toml.h"

namespace parley::data {

namespace {

const Toml::Choices<ColumnType>& column_types() {
  static const Toml::Choices<ColumnType> kTypes = {
      {"number", ColumnType::kNumber},     {"integer", ColumnType::kInteger}, {"date", ColumnType::kDate},
      {"category", ColumnType::kCategory}, {"boolean", ColumnType::kBoolean}, {"id", ColumnType::kId},
      {"key", ColumnType::kKey},           {"label", ColumnType::kLabel},     {"weight", ColumnType::kWeight},
      {"ignore", ColumnType::kIgnore}};
  return kTypes;
}

const Toml::Choices<Missing>& missing_rules() {
  static const Toml::Choices<Missing> kRules = {{"error", Missing::kError},      {"zero", Missing::kZero},
                                                {"drop-row", Missing::kDropRow}, {"level", Missing::kLevel},
                                                {"middle", Missing::kMiddle},    {"indicator", Missing::kIndicator},
                                                {"no-match", Missing::kNoMatch}};
  return kRules;
}

const Toml::Choices<OutOfBounds>& out_of_bounds_rules() {
  static const Toml::Choices<OutOfBounds> kRules = {{"clip", OutOfBounds::kClip}, {"refuse", OutOfBounds::kRefuse}};
  return kRules;
}

const Toml::Choices<UnknownLevel>& unknown_level_rules() {
  static const Toml::Choices<UnknownLevel> kRules = {
      {"refuse", UnknownLevel::kRefuse}, {"ignore", UnknownLevel::kIgnore}, {"other", UnknownLevel::kOther}};
  return kRules;
}

const Toml::Choices<DateFormat>& date_formats() {
  static const Toml::Choices<DateFormat> kFormats = {{"YYYY-MM-DD", DateFormat::kYearMonthDay},
                                                     {"DD.MM.YYYY", DateFormat::kDayMonthYear},
                                                     {"MM/DD/YYYY", DateFormat::kMonthDayYear},
                                                     {"YYYYMMDD", DateFormat::kCompact}};
  return kFormats;
}

const Toml::Choices<Format>& formats() {
  static const Toml::Choices<Format> kFormats = {{"csv", Format::kCsv}, {"libsvm", Format::kLibsvm}};
  return kFormats;
}

const Toml::Choices<std::string>& delimiters() {
  static const Toml::Choices<std::string> kDelimiters = {{"tab", "\t"}, {"space", " "}};
  return kDelimiters;
}

template <class Value>
std::string_view word(const Toml::Choices<Value>& choices, const Value& value) {
  for (const auto& [name, meaning] : choices)
    if (meaning == value) return name;
  return "";
}

bool numeric(ColumnType type) {
  return type == ColumnType::kNumber || type == ColumnType::kInteger || type == ColumnType::kDate;
}

// Levels that share a column, and the rule that finds them.
void check_rare(Toml& toml, const ColumnSchema& column) {
  for (const char* key : {"rare", "min_count", "unknown_level"})
    if (toml.has(key) && column.type != ColumnType::kCategory) toml.reject(key, "belongs to categories");
  std::set<std::string> seen(column.levels.begin(), column.levels.end());
  for (const auto& level : column.rare)
    if (!seen.insert(level).second) toml.reject("rare", "a level is listed twice, here or in levels", level);
  if (column.min_count > 0 && !column.levels.empty())
    toml.reject("min_count",
                "finds levels and how rare they are in the data, and levels states them: give one of them");
}

// The type of a column decides which of the other keys make sense.
void check_column(Toml& toml, const ColumnSchema& column) {
  // Whoever leaves a column out of a draft changes its type and nothing else.
  if (column.type == ColumnType::kIgnore) return;
  const bool may_have_bounds =
      numeric(column.type) || column.type == ColumnType::kLabel || column.type == ColumnType::kWeight;
  if (!may_have_bounds)
    for (const char* key : {"lower", "upper", "bound"})
      if (toml.has(key)) toml.reject(key, "bounds belong to numbers, integers, dates, labels and weights");
  if (column.lower && column.upper && *column.lower > *column.upper)
    toml.reject("upper", "must not be below lower", fmt::format("{}", *column.upper));
  if (column.lower.has_value() != column.upper.has_value())
    toml.reject(column.lower ? "lower" : "upper", "a bound needs both lower and upper (or bound = B for [-B, B])");

  if (column.center && !(numeric(column.type) && column.bound()))
    toml.reject("center", "belongs to numbers and integers with lower and upper");
  else if (column.center.value_or(false) && !(*column.lower < *column.upper))
    toml.reject("center", "needs bounds with room between them", fmt::format("{}", *column.lower));

  const bool may_have_levels =
      column.type == ColumnType::kCategory || column.type == ColumnType::kBoolean || column.type == ColumnType::kLabel;
  if (toml.has("levels")) {
    if (!may_have_levels) toml.reject("levels", "levels belong to categories, booleans and labels");
    std::set<std::string> seen;
    for (const auto& level : column.levels)
      if (!seen.insert(level).second) toml.reject("levels", "a level is listed twice", level);
    if (column.type == ColumnType::kBoolean && column.levels.size() != 2)
      toml.reject("levels", "a boolean has two levels, the false one first", std::to_string(column.levels.size()));
    if (column.levels.empty()) toml.reject("levels", "must not be empty");
  }
  check_rare(toml, column);
  if (toml.has("date_format") && column.type != ColumnType::kDate) toml.reject("date_format", "belongs to dates");

  const auto missing_of = [&](std::initializer_list<Missing> allowed, std::string_view rule) {
    if (std::find(allowed.begin(), allowed.end(), column.missing) == allowed.end()) toml.reject("missing", rule);
  };
  switch (column.type) {
    case ColumnType::kNumber:
    case ColumnType::kInteger:
    case ColumnType::kDate:
      missing_of(
          {Missing::kError, Missing::kZero, Missing::kValue, Missing::kDropRow, Missing::kMiddle, Missing::kIndicator},
          "must be error, zero, middle, indicator, drop-row or a number here");
      if (column.missing == Missing::kMiddle && !column.bound())
        toml.reject("missing", "needs bounds: it is the middle between them", "middle");
      break;
    case ColumnType::kBoolean:
      missing_of({Missing::kError, Missing::kZero, Missing::kValue, Missing::kDropRow},
                 "must be error, zero, drop-row or a number here");
      break;
    case ColumnType::kCategory:
      missing_of({Missing::kError, Missing::kZero, Missing::kLevel, Missing::kDropRow},
                 "must be error, zero, drop-row or level here");
      break;
    case ColumnType::kWeight:
      missing_of({Missing::kError}, "must be error here: a record without a weight is a mistake");
      if (column.lower && *column.lower < 0)
        toml.reject("lower", "a weight is not negative", fmt::format("{}", *column.lower));
      break;
    case ColumnType::kId:
    case ColumnType::kLabel:
      missing_of({Missing::kError, Missing::kDropRow}, "must be error or drop-row here");
      break;
    case ColumnType::kKey:
      missing_of({Missing::kNoMatch, Missing::kError, Missing::kDropRow}, "must be no-match, error or drop-row here");
      break;
    case ColumnType::kIgnore:
      break;
  }
  if (column.missing == Missing::kValue && column.bound() &&
      (column.missing_value < *column.lower || column.missing_value > *column.upper))
    toml.reject("missing", "must lie within the bounds", fmt::format("{}", column.missing_value));
  if (column.missing == Missing::kValue && column.type == ColumnType::kInteger &&
      column.missing_value != std::nearbyint(column.missing_value))
    toml.reject("missing", "must be a whole number here", fmt::format("{}", column.missing_value));
  if (column.missing == Missing::kValue && column.type == ColumnType::kBoolean && column.missing_value != 0 &&
      column.missing_value != 1)
    toml.reject("missing", "must be 0 or 1 here", fmt::format("{}", column.missing_value));
}

// A date's bound is written as a date.
void read_bound(Toml& toml, const char* key, ColumnType type, std::optional<double>& bound) {
  const bool may_be_date = type == ColumnType::kDate || type == ColumnType::kIgnore;
  if (!may_be_date || toml.kind(key) != Toml::Kind::kText) {
    toml.number(key, bound);
    return;
  }
  std::string text;
  toml.text(key, text);
  if (type == ColumnType::kIgnore) return;
  bound = parse_date(text, DateFormat::kYearMonthDay);
  if (!bound) toml.reject(key, "must be a date, as in \"2024-02-29\"", text);
}

ColumnSchema read_column(Toml& toml) {
  ColumnSchema column;
  toml.text("name", column.name);
  toml.require("name");
  if (toml.has("name") && column.name.empty()) toml.reject("name", "must not be empty");
  toml.choice("type", column.type, column_types());
  toml.require("type");
  if (column.type == ColumnType::kKey) column.missing = Missing::kNoMatch;
  read_bound(toml, "lower", column.type, column.lower);
  read_bound(toml, "upper", column.type, column.upper);
  double bound = 0;
  if (toml.number("bound", bound, above(0))) {
    if (column.lower || column.upper) toml.reject("bound", "give either bound, or lower and upper");
    column.lower = -bound;
    column.upper = bound;
  }
  toml.texts("levels", column.levels);
  toml.texts("rare", column.rare);
  toml.integer("min_count", column.min_count, at_least(0));
  toml.choice("date_format", column.date_format, date_formats());
  toml.boolean("confirmed", column.confirmed);
  bool center = false;
  if (toml.boolean("center", center)) column.center = center;
  toml.choice("unknown_level", column.unknown, unknown_level_rules());
  const Toml::Kind kind = toml.kind("missing");
  if (kind == Toml::Kind::kInteger || kind == Toml::Kind::kNumber) {
    toml.number("missing", column.missing_value);
    column.missing = Missing::kValue;
  } else {
    toml.choice("missing", column.missing, missing_rules());
  }
  check_column(toml, column);
  return column;
}

bool single_character(const std::string& text) {
  return text.size() == 1 && text[0] != '\n' && text[0] != '\r' && text[0] != '"' && text[0] != '\0';
}

void read_table(Toml& toml, Schema& schema) {
  toml.choice("format", schema.format, formats());
  if (toml.text("delimiter", schema.delimiter)) {
    for (const auto& [name, character] : delimiters())
      if (schema.delimiter == name) schema.delimiter = character;
    if (!single_character(schema.delimiter))
      toml.reject("delimiter", "must be one character, \"tab\" or \"space\"", schema.delimiter);
  }
  bool header = false;
  if (toml.boolean("header", header)) schema.header = header;
  toml.integer("skip_lines", schema.skip_lines, at_least(0));
  if (toml.text("comment", schema.comment) && !single_character(schema.comment))
    toml.reject("comment", "must be one character", schema.comment);
  toml.texts("missing", schema.missing_markers);
  toml.choice("out_of_bounds", schema.out_of_bounds, out_of_bounds_rules());
  int number = 0;
  if (toml.integer("features", number, at_least(1))) schema.features = number;
  if (toml.integer("first_index", number, between(0, 1))) schema.first_index = number;
  toml.number("bound", schema.bound, above(0));
  toml.number("label_bound", schema.label_bound, above(0));
  toml.boolean("confirmed", schema.confirmed);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\u{:04X}", byte);
    else
      out += c;
  }
  return out + "\"";
}

std::string list_of(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  parts.reserve(texts.size());
  for (const auto& text : texts) parts.push_back(quoted(text));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

// TOML tells 1 from 1.0; a double is written so that it reads back as the same double.
std::string written(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("+-0123456789") == std::string::npos && text.size() > 18) text += ".0";
  return text;
}

constexpr const char* kGuess = "  # a guess from the data: confirm it, then set confirmed = true";

std::string column_toml(const ColumnSchema& column) {
  std::string out = fmt::format("\n[[column]]\nname = {}\ntype = \"{}\"\n", quoted(column.name), name(column.type));
  const char* const mark = column.confirmed ? "" : kGuess;
  const auto bound = [&](double value) {
    return column.type == ColumnType::kDate ? quoted(date_text(value)) : written(value);
  };
  if (column.lower) out += fmt::format("lower = {}{}\n", bound(*column.lower), mark);
  if (column.upper) out += fmt::format("upper = {}{}\n", bound(*column.upper), mark);
  if (column.center) out += fmt::format("center = {}\n", *column.center);
  if (column.date_format != DateFormat::kYearMonthDay)
    out += fmt::format("date_format = \"{}\"{}\n", word(date_formats(), column.date_format), mark);
  if (!column.levels.empty()) out += fmt::format("levels = {}{}\n", list_of(column.levels), mark);
  if (!column.confirmed) out += "confirmed = false\n";
  if (!column.rare.empty()) out += fmt::format("rare = {}{}\n", list_of(column.rare), mark);
  if (column.min_count > 0) out += fmt::format("min_count = {}\n", column.min_count);
  if (column.type == ColumnType::kCategory && column.unknown != UnknownLevel::kByUse)
    out += fmt::format("unknown_level = \"{}\"\n", word(unknown_level_rules(), column.unknown));
  if (column.missing == Missing::kValue)
    out += fmt::format("missing = {}\n", written(column.missing_value));
  else if (column.missing != (column.type == ColumnType::kKey ? Missing::kNoMatch : Missing::kError))
    out += fmt::format("missing = \"{}\"{}\n", word(missing_rules(), column.missing), mark);
  return out;
}

}  // namespace

std::string_view name(ColumnType type) {
  return word(column_types(), type);
}

std::optional<double> ColumnSchema::bound() const {
  if (!lower || !upper) return std::nullopt;
  return std::max(std::abs(*lower), std::abs(*upper));
}

std::optional<double> ColumnSchema::middle() const {
  if (!numeric(type) || !bound() || !(*lower < *upper)) return std::nullopt;
  if (!center.value_or(*lower > 0 || *upper < 0)) return std::nullopt;
  return *lower + half_range();
}

const ColumnSchema* Schema::find(std::string_view column) const {
  for (const auto& candidate : columns)
    if (candidate.name == column) return &candidate;
  return nullptr;
}

std::vector<std::string> Schema::unconfirmed() const {
  std::vector<std::string> names;
  if (!confirmed) names.emplace_back("table");
  for (const auto& column : columns)
    if (!column.confirmed && column.type != ColumnType::kIgnore) names.push_back(column.name);
  return names;
}

Result<Schema> parse_schema(std::string_view text, const std::string& file_name) {
  PARLEY_TRY(Toml toml, Toml::parse(text, file_name));
  Schema schema;
  Toml table = toml.table("table");
  read_table(table, schema);
  std::set<std::string> seen;
  std::string label;
  std::string id;
  std::string weight;
  for (Toml& section : toml.tables("column")) {
    ColumnSchema column = read_column(section);
    if (!seen.insert(column.name).second) section.reject("name", "is the name of an earlier column", column.name);
    if (column.type == ColumnType::kLabel) {
      if (!label.empty()) section.reject("type", "a table has one label; the first is '" + label + "'", column.name);
      label = column.name;
    }
    if (column.type == ColumnType::kWeight) {
      if (!weight.empty()) section.reject("type", "a table has one weight; the first is '" + weight + "'", column.name);
      weight = column.name;
    }
    if (column.type == ColumnType::kId) {
      if (!id.empty()) section.reject("type", "a table has one id; the first is '" + id + "'", column.name);
      id = column.name;
    }
    schema.columns.push_back(std::move(column));
  }
  if (schema.format == Format::kLibsvm && !schema.columns.empty())
    toml.reject("column", "a LIBSVM file has no named columns; give [table] bound");
  PARLEY_CHECK(toml.finish());
  return schema;
}

Result<Schema> read_schema(const std::string& path) {
  PARLEY_TRY(const std::string text, read_whole(path, std::size_t{64} << 20));
  return parse_schema(text, path);
}

std::string to_toml(const Schema& schema) {
  const char* const mark = schema.confirmed ? "" : kGuess;
  std::string out = "[table]\n";
  if (schema.format != Format::kDetect) out += fmt::format("format = \"{}\"\n", word(formats(), schema.format));
  if (!schema.delimiter.empty()) {
    const std::string_view spelled = word(delimiters(), schema.delimiter);
    out += fmt::format("delimiter = {}\n", quoted(spelled.empty() ? schema.delimiter : spelled));
  }
  if (schema.header) out += fmt::format("header = {}\n", *schema.header);
  if (schema.skip_lines > 0) out += fmt::format("skip_lines = {}\n", schema.skip_lines);
  if (!schema.comment.empty()) out += fmt::format("comment = {}\n", quoted(schema.comment));
  if (schema.missing_markers != Schema().missing_markers)
    out += fmt::format("missing = {}\n", list_of(schema.missing_markers));
  if (schema.out_of_bounds == OutOfBounds::kRefuse) out += "out_of_bounds = \"refuse\"\n";
  if (schema.features) out += fmt::format("features = {}\n", *schema.features);
  if (schema.first_index) out += fmt::format("first_index = {}\n", *schema.first_index);
  if (schema.bound) out += fmt::format("bound = {}{}\n", written(*schema.bound), mark);
  if (schema.label_bound) out += fmt::format("label_bound = {}{}\n", written(*schema.label_bound), mark);
  if (!schema.confirmed) out += "confirmed = false\n";
  for (const auto& column : schema.columns) out += column_toml(column);
  return out;
}

}  // namespace parley::data
