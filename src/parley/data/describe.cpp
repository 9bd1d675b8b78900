#include "parley/data/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "parley/core/text.h"
#include "parley/data/conventions.h"
#include "parley/data/csv.h"
#include "parley/data/database_address.h"
#include "parley/data/decompress.h"
#include "parley/data/libsvm.h"
#include "parley/data/load.h"
#include "parley/data/table_text.h"

namespace parley::data {

namespace {

// A whole-numbered label with values this close together is read as classes, not as a quantity.
constexpr double kClassRange = 100;

void guess_bounds(ColumnSchema& column, double smallest, double largest) {
  column.lower = smallest < 0 ? -round_bound(-smallest) : 0.0;
  column.upper = largest > 0 ? round_bound(largest) : 0.0;
  if (*column.lower == *column.upper) column.upper = 1.0;
  column.confirmed = false;
}

std::string label_name(const std::string& wanted, const CsvTable& read) {
  const auto& columns = read.plan.columns;
  if (wanted == "first" || wanted == "last") {
    const auto named =
        std::find_if(columns.begin(), columns.end(), [&](const CsvColumn& c) { return c.name == wanted; });
    if (named == columns.end()) return wanted == "first" ? columns.front().name : columns.back().name;
  }
  const bool counted =
      !wanted.empty() && wanted.size() < 7 && wanted.find_first_not_of("0123456789") == wanted.npos &&
      std::none_of(columns.begin(), columns.end(), [&](const CsvColumn& c) { return c.name == wanted; });
  if (counted && std::stoul(wanted) >= 1 && std::stoul(wanted) <= columns.size())
    return columns[std::stoul(wanted) - 1].name;
  if (!wanted.empty()) return wanted;
  std::string usual;
  for (const CsvColumn& column : columns) {
    const int rank = label_rank(column.name);
    if (rank >= 0 && (usual.empty() || rank < label_rank(usual))) usual = column.name;
  }
  return usual;
}

// Whole years, which say little about the days that occur.
void guess_date_bounds(ColumnSchema& column, double first, double last) {
  const auto year = [](double day) { return date_text(day).substr(0, 4); };
  column.lower = parse_date(year(first) + "-01-01", DateFormat::kYearMonthDay).value_or(std::floor(first));
  column.upper = parse_date(year(last) + "-12-31", DateFormat::kYearMonthDay).value_or(std::ceil(last));
  column.confirmed = false;
}

// What the numbers of a column are, beyond their range.
void look_at_values(const linalg::Matrix& features, linalg::Index column, const CellCounts& counts,
                    ColumnSummary& summary) {
  std::set<double> seen;
  const auto rows = static_cast<std::size_t>(features.rows());
  std::size_t stored = 0;
  std::vector<bool> taken;
  const bool as_many = counts.whole && counts.missing == 0 && rows > 1 &&
                       counts.largest - counts.smallest == static_cast<double>(rows - 1);
  if (as_many) taken.resize(rows);
  bool each_once = as_many;
  const auto take = [&](double value) {
    if (seen.size() <= kFewValues) seen.insert(value);
    if (!as_many || value < counts.smallest || value > counts.largest) return;
    const auto place = static_cast<std::size_t>(value - counts.smallest);
    each_once = each_once && !taken[place];
    taken[place] = true;
  };
  features.for_each_in_column(column, [&](linalg::Index, double value) {
    take(value);
    ++stored;
  });
  if (stored < rows) take(0);
  summary.numbers_rows = each_once && rows - stored <= 1;
  if (seen.size() <= kFewValues) summary.values.assign(seen.begin(), seen.end());
}

ColumnSchema draft_column(const CsvTable& read, std::size_t j, bool is_label, bool is_catalogued) {
  const CsvColumn& column = read.plan.columns[j];
  const CellCounts& counts = read.counts[j];
  ColumnSchema draft{.name = column.name, .type = read.plan.schema.columns[column.schema].type};
  const bool is_empty = counts.smallest > counts.largest;
  if (draft.type == ColumnType::kKey && !is_label) {
    draft.missing = Missing::kNoMatch;
    return draft;
  }
  if (is_label) {
    draft.type = ColumnType::kLabel;
    if (counts.missing > 0) draft.missing = Missing::kDropRow;
    draft.levels = read.levels[j];
    const bool quantity =
        column.kind == CellKind::kNumber && !(counts.whole && counts.largest - counts.smallest <= kClassRange);
    if (quantity && !is_empty) guess_bounds(draft, counts.smallest, counts.largest);
    draft.confirmed = draft.levels.empty() && !quantity && counts.missing == 0;
    return draft;
  }
  if (column.kind == CellKind::kDate) {
    draft.date_format = column.date_format;
    if (is_empty)
      draft.type = ColumnType::kIgnore;
    else
      guess_date_bounds(draft, counts.smallest, counts.largest);
    if (counts.missing > 0) draft.missing = Missing::kZero;
    return draft;
  }
  const bool known = draft.type == ColumnType::kInteger;  // by a catalogue: others are numbers until they are whole
  if (column.kind == CellKind::kNumber || known) {
    if (counts.whole && !is_catalogued) draft.type = ColumnType::kInteger;
    if (is_empty)
      draft.type = ColumnType::kIgnore;
    else
      guess_bounds(draft, counts.smallest, counts.largest);
    if (counts.missing > 0) draft.missing = Missing::kZero;
  } else if (column.kind == CellKind::kCategory) {
    draft.confirmed = false;
    if (read.overflowed[j]) {
      draft.type = ColumnType::kIgnore;
    } else if (is_boolean(read.levels[j])) {
      draft.type = ColumnType::kBoolean;
      draft.levels = read.levels[j];
      if (boolean_word(draft.levels[0]) == 1) std::swap(draft.levels[0], draft.levels[1]);
      if (counts.missing > 0) draft.missing = Missing::kZero;
    } else {
      draft.levels = read.levels[j];
      if (counts.missing > 0) draft.missing = Missing::kLevel;
    }
  }
  return draft;
}

Result<Description> describe_csv(const OpenBytes& open, const std::string& path, const std::string& label) {
  // The label is read as a column like others here; its type is decided afterwards.
  PARLEY_TRY(LoadOptions options, with_catalogue(path, {.label_use = LabelUse::kNone, .label = label}));
  for (const CatalogueColumn& column : options.catalogue)
    if (column.key && !is_id_name(column.name)) options.keys.push_back(column.name);  // so that they are counted
  PARLEY_TRY(const CsvTable read, read_csv_table(open, path, options, true));
  Description about;
  about.file = path;
  about.format = Format::kCsv;
  about.rows = read.data.rows();
  about.notes = read.data.notes;
  about.draft.format = Format::kCsv;
  if (!is_database(path)) {
    about.draft.delimiter = std::string(1, read.layout.delimiter);
    about.draft.header = read.layout.header;
    about.draft.skip_lines = static_cast<int>(read.layout.preamble_lines);
  }
  const std::string wanted = label_name(label, read);
  std::vector<std::string> names;
  for (const CsvColumn& column : read.plan.columns) names.push_back(column.name);
  if (!wanted.empty() && std::find(names.begin(), names.end(), wanted) == names.end())
    return fail(bad_input({path, 0, "label"}, "label missing: the file has no such column" + suggestion(wanted, names),
                          wanted));
  for (std::size_t j = 0; j < names.size(); ++j) {
    const bool catalogued =
        std::any_of(options.catalogue.begin(), options.catalogue.end(),
                    [&](const CatalogueColumn& column) { return column.name == names[j] && column.type; });
    ColumnSchema draft = draft_column(read, j, names[j] == wanted, catalogued);
    const CellCounts& counts = read.counts[j];
    ColumnSummary summary{.name = names[j], .type = draft.type, .missing = counts.missing, .levels = read.levels[j]};
    summary.has_range = counts.smallest <= counts.largest;
    if (summary.has_range) {
      summary.smallest = counts.smallest;
      summary.largest = counts.largest;
    }
    summary.constant = counts.missing == 0 && about.rows > 1 &&
                       ((summary.has_range && counts.smallest == counts.largest) || summary.levels.size() == 1);
    summary.many_words = read.overflowed[j];
    if (const auto at = read.data.columns.find(names[j]); at && read.plan.columns[j].is_measured() && summary.has_range)
      look_at_values(read.data.features, *at, counts, summary);
    if (read.overflowed[j])
      about.notes.push_back(
          fmt::format("column '{}' has more than {} different values: drafted as ignore (or is it an id?)",
                      printable(names[j], 40), kMostFoundLevels));
    switch (draft.type) {
      case ColumnType::kNumber:
      case ColumnType::kInteger:
      case ColumnType::kDate:
      case ColumnType::kBoolean:
        ++about.features;
        break;
      case ColumnType::kCategory:
        about.features += draft.levels.size() + (draft.missing == Missing::kLevel ? 1 : 0);
        break;
      default:
        break;
    }
    about.columns.push_back(std::move(summary));
    about.draft.columns.push_back(std::move(draft));
  }
  about.nonzeros = read.data.features.nonzeros();
  return about;
}

Result<Description> describe_libsvm(const OpenBytes& open, const std::string& path) {
  LoadOptions options;
  options.label_use = LabelUse::kOptional;
  options.labels = LabelKind::kReal;
  PARLEY_TRY(const Dataset data, read_libsvm(open, path, options));
  Description about;
  about.file = path;
  about.format = Format::kLibsvm;
  about.rows = data.rows();
  about.features = data.columns.size();
  about.nonzeros = data.features.nonzeros();
  about.notes = data.notes;
  about.draft.format = Format::kLibsvm;
  if (!data.labels.values.empty()) {
    const auto [least, most] = std::minmax_element(data.labels.values.begin(), data.labels.values.end());
    const bool whole = std::all_of(data.labels.values.begin(), data.labels.values.end(),
                                   [](double y) { return y == std::nearbyint(y); });
    about.columns.push_back({.name = "label",
                             .type = ColumnType::kLabel,
                             .has_range = true,
                             .smallest = *least,
                             .largest = *most,
                             .constant = *least == *most && about.rows > 1});
    std::set<double> seen;
    for (const double y : data.labels.values)
      if (seen.size() <= kFewValues) seen.insert(y);
    if (seen.size() <= kFewValues) about.columns.back().values.assign(seen.begin(), seen.end());
    if (!whole || *most - *least > kClassRange)
      about.draft.label_bound =
          round_bound(std::max({std::abs(*least), std::abs(*most), std::numeric_limits<double>::min()}));
  }
  double smallest = 0;
  double largest = 0;
  bool integers = true;
  for (linalg::Index j = 0; j < data.features.cols(); ++j)
    data.features.for_each_in_column(j, [&](linalg::Index, double value) {
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
      integers = integers && value == std::nearbyint(value);
    });
  about.columns.push_back({.name = fmt::format("{} .. {}", data.columns.empty() ? "" : data.columns[0],
                                               data.columns.empty() ? "" : data.columns[data.columns.size() - 1]),
                           .type = integers ? ColumnType::kInteger : ColumnType::kNumber,
                           .has_range = true,
                           .smallest = smallest,
                           .largest = largest});
  const double reach = std::max(-smallest, largest);
  about.draft.bound = reach > 0 ? round_bound(reach) : 1.0;
  about.draft.confirmed = false;
  const bool consecutive = !data.columns.empty() && data.columns.find_number(0) == 0;
  if (!data.columns.empty() && (consecutive || data.columns.find_number(1) == 0) &&
      data.columns[data.columns.size() - 1] == fmt::format("x{}", data.columns.size() - (consecutive ? 1 : 0))) {
    about.draft.features = static_cast<int>(data.columns.size());
    about.draft.first_index = consecutive ? 0 : 1;
  }
  return about;
}

std::string range_or_levels(const ColumnSummary& column) {
  if (!column.levels.empty()) {
    std::string text = counted(column.levels.size(), "level") + ": ";
    for (std::size_t k = 0; k < column.levels.size(); ++k) {
      text += (k == 0 ? "" : ", ") + printable(column.levels[k], 20);
      if (text.size() > 50 && k + 1 < column.levels.size()) return text + ", ...";
    }
    return text;
  }
  if (column.has_range && column.type == ColumnType::kDate)
    return fmt::format("{} .. {}", date_text(column.smallest), date_text(column.largest));
  return column.has_range ? fmt::format("{:.6g} .. {:.6g}", column.smallest, column.largest) : "";
}

std::string drafted_bounds(const Description& about, const ColumnSummary& column) {
  if (const ColumnSchema* draft = about.draft.find(column.name); draft != nullptr && draft->lower)
    return draft->type == ColumnType::kDate
               ? fmt::format("[{}, {}]", date_text(*draft->lower), date_text(*draft->upper))
               : fmt::format("[{}, {}]", *draft->lower, *draft->upper);
  if (about.format == Format::kLibsvm && column.type != ColumnType::kLabel && about.draft.bound)
    return fmt::format("[-{0}, {0}]", *about.draft.bound);
  return "";
}

}  // namespace

double round_bound(double value) {
  const double exponent = std::floor(std::log10(value));
  for (const double power : {std::pow(10, exponent - 1), std::pow(10, exponent), std::pow(10, exponent + 1)})
    for (const double leading : {1.0, 2.0, 5.0})
      if (std::isfinite(leading * power) && leading * power >= value) return leading * power;
  return std::numeric_limits<double>::max();
}

Result<Description> describe(const std::string& path, const std::string& label) {
  const OpenBytes open = [&path] { return open_table(path); };
  PARLEY_TRY(const Format format, format_of_text(path));
  return format == Format::kLibsvm ? describe_libsvm(open, path) : describe_csv(open, path, label);
}

std::string table(const Description& about) {
  std::string out =
      fmt::format("{}: {}, {}, {}, {}\n\n", about.file,
                  is_database(about.file)           ? "a database's table"
                  : about.format == Format::kLibsvm ? "LIBSVM"
                                                    : "CSV",
                  counted(about.rows, "row"), counted(about.features, "feature"), counted(about.nonzeros, "nonzero"));
  std::size_t width = 6;
  for (const auto& column : about.columns) width = std::max(width, printable(column.name, 32).size());
  out +=
      fmt::format("{:<{}}  {:<8}  {:>8}  {:<18}  {}\n", "column", width, "type", "missing", "bounds (guess)", "values");
  constexpr std::size_t kShown = 60;
  for (std::size_t j = 0; j < std::min(kShown, about.columns.size()); ++j) {
    const ColumnSummary& column = about.columns[j];
    out += fmt::format("{:<{}}  {:<8}  {:>8}  {:<18}  {}{}\n", printable(column.name, 32), width, name(column.type),
                       with_commas(static_cast<long long>(column.missing)), drafted_bounds(about, column),
                       range_or_levels(column), column.constant ? " (constant)" : "");
  }
  if (about.columns.size() > kShown)
    out += fmt::format("... and {}\n", counted(about.columns.size() - kShown, "more column"));
  for (const auto& note : about.notes) out += fmt::format("note: {}\n", note);
  const auto guesses = about.draft.unconfirmed().size();
  if (guesses > 0)
    out += fmt::format(
        "\n{} of the draft's entries are guesses taken from these data. Bounds and levels count as public: a person\n"
        "must confirm each (confirmed = true) from what is known without looking at the data.\n",
        guesses);
  return out;
}

}  // namespace parley::data
