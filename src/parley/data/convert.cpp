#include "parley/data/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "parley/core/text.h"
#include "parley/data/libsvm_index.h"
#include "parley/data/load.h"
#include "parley/data/number.h"
#include "parley/data/raw_table.h"
#include "parley/data/table_text.h"

namespace parley::data {

namespace {

namespace fs = std::filesystem;

Result<Format> format_of_name(const fs::path& path) {
  const std::string ending = fs::path(without_packing(path.filename().string())).extension().string();
  if (ending == ".csv" || ending == ".tsv") return Format::kCsv;
  if (ending == ".libsvm" || ending == ".svm" || ending == ".svmlight") return Format::kLibsvm;
  return fail(bad_input({path.string(), 0, ""}, "the name says neither .csv nor .libsvm: give --to"));
}

// Refuses before writing what the disk cannot hold.
Result<void> check_disk(double bytes, const fs::path& path) {
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const fs::space_info space = fs::space(fs::exists(folder, error) ? folder : fs::path("."), error);
  if (!error && bytes > static_cast<double>(space.available))
    return fail(bad_input({path.string(), 0, ""},
                          fmt::format("would take at least {}, {} are free: CSV spells out every zero",
                                      human_bytes(bytes), human_bytes(static_cast<double>(space.available)))));
  return {};
}

// The bytes as they are, once they have been found to be a table of this format.
Result<Converted> repack(const Conversion& c, OutputFile& out) {
  PARLEY_TRY(const RawTable table, RawTable::read(c.from, c.from_format));
  Converted converted;
  converted.notes = table.notes();
  converted.table.rows = static_cast<std::int64_t>(table.rows());
  if (!table.is_libsvm()) {
    converted.table.columns = static_cast<std::int64_t>(table.names().size());
    PARLEY_CHECK(out.write(table.text()));
    return converted;
  }
  const auto first = static_cast<int>(table.first_index());
  const int shift = c.first_index.value_or(first) - first;
  if (const std::int64_t last = std::int64_t{table.last_index()} + shift; last > kLargestIndex)
    return fail(bad_input({c.from, 0, "index"}, largest_index_rule(), std::to_string(last)));
  converted.table.columns = static_cast<std::int64_t>(table.last_index()) + 1 - first;
  if (shift == 0) {
    PARLEY_CHECK(out.write(table.text()));
    return converted;
  }
  PARLEY_CHECK(write_rows(out, table.rows(), 256, [&](std::size_t row, std::string& text) {
    thread_local std::vector<RawEntry> entries;
    table.entries(row, entries);
    text += table.label(row);
    for (const RawEntry& entry : entries) {
      text += ' ';
      append_integer(text, std::int64_t{entry.index} + shift);
      text += ':';
      text += entry.value;
    }
    text += table.line_end();
  }));
  return converted;
}

// Every column up to the last; of a table whose columns are nearly all empty those that occur.
std::vector<std::uint32_t> columns_to_write(const RawTable& table, std::vector<std::string>& notes) {
  const std::uint32_t first = table.first_index();
  const std::uint32_t end = std::max(first, table.last_index() + 1);
  std::vector<std::uint32_t> columns;
  std::vector<RawEntry> entries;
  std::int64_t count = 0;
  for (std::size_t row = 0; is_mostly_empty(end - first, count) && row < table.rows(); ++row) {
    table.entries(row, entries);
    count += static_cast<std::int64_t>(entries.size());
    for (const RawEntry& entry : entries) columns.push_back(entry.index);
  }
  if (is_mostly_empty(end - first, count)) {
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    notes.push_back(fmt::format("indices reach {}: only the {} kept", with_commas(end - 1),
                                counted(columns.size(), "column that occurs is", "columns that occur are")));
    return columns;
  }
  columns.resize(end - first);
  std::iota(columns.begin(), columns.end(), first);
  return columns;
}

Result<Converted> libsvm_to_csv(const Conversion& c, OutputFile& out) {
  PARLEY_TRY(const RawTable table, RawTable::read(c.from, Format::kLibsvm));
  Converted converted;
  converted.notes = table.notes();
  converted.table.rows = static_cast<std::int64_t>(table.rows());
  const std::vector<std::uint32_t> columns = columns_to_write(table, converted.notes);
  converted.table.columns = static_cast<std::int64_t>(columns.size());
  PARLEY_CHECK(check_disk(2.0 * static_cast<double>(table.rows()) * static_cast<double>(columns.size()), c.to));

  std::string header;
  append_cell(header, c.label.empty() ? "y" : c.label);
  for (const std::uint32_t index : columns) header += fmt::format(",x{}", index);
  header += '\n';
  PARLEY_CHECK(out.write(header));
  PARLEY_CHECK(write_rows(out, table.rows(), 2 * columns.size(), [&](std::size_t row, std::string& text) {
    thread_local std::vector<RawEntry> entries;
    table.entries(row, entries);
    text += table.label(row);
    auto next = columns.begin();
    for (const RawEntry& entry : entries) {
      for (; *next < entry.index; ++next) text += ",0";
      text += ',';
      text += entry.value;
      ++next;
    }
    for (; next != columns.end(); ++next) text += ",0";
    text += '\n';
  }));
  return converted;
}

// Classes of which at least half of the rows have a number: a label with a stray word in it.
bool are_mostly_numbers(const Labels& labels) {
  std::vector<bool> is_number;
  for (const std::string& name : labels.classes) {
    const ParsedNumber parsed = parse_number(name.data(), name.data() + name.size());
    is_number.push_back(parsed.error == NumberError::kNone && parsed.end == name.data() + name.size());
  }
  const auto numbers = std::count_if(labels.values.begin(), labels.values.end(),
                                     [&](double k) { return is_number[static_cast<std::size_t>(k)]; });
  return numbers > 0 && 2 * static_cast<std::size_t>(numbers) >= labels.values.size();
}

// Whether the first label that cannot be read as a number is a word. One that is too large or out of bounds is a
// mistake among numbers, and makes no classes of them.
bool is_labelled_by_words(const Conversion& c) {
  const Schema schema = c.schema.value_or(Schema());
  std::string name = c.label;
  for (const ColumnSchema& column : schema.columns)
    if (column.type == ColumnType::kLabel && name.empty()) name = column.name;
  const auto table = RawTable::read(c.from, Format::kCsv, c.schema ? &schema : nullptr);
  if (!table) return true;  // reading it says why not
  const auto label = label_column(*table, name);
  if (!label || *label == SIZE_MAX) return false;

  double lower = -kUnbounded, upper = kUnbounded;
  if (schema.out_of_bounds == OutOfBounds::kRefuse) {
    const ColumnSchema* const declared = schema.find(table->names()[*label]);
    const bool own = declared != nullptr && declared->bound();
    if (own || schema.label_bound) {
      lower = own ? *declared->lower : -*schema.label_bound;
      upper = own ? *declared->upper : *schema.label_bound;
    }
  }
  const std::set<std::string> missing(schema.missing_markers.begin(), schema.missing_markers.end());
  std::vector<std::string_view> cells;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    table->cells(row, cells);
    const std::string cell = table->content(cells[*label]);
    if (missing.contains(cell)) continue;
    const ParsedNumber parsed = parse_number(cell.data(), cell.data() + cell.size());
    if (parsed.error == NumberError::kNotFinite) return false;
    if (parsed.error != NumberError::kNone || parsed.end != cell.data() + cell.size()) return true;
    if (parsed.value < lower || parsed.value > upper) return false;
  }
  return false;
}

Result<Converted> csv_to_libsvm(const Conversion& c, OutputFile& out, Outputs& outputs) {
  LoadOptions options;
  options.schema = c.schema;
  options.format = Format::kCsv;
  options.label = c.label;
  options.label_use = c.label.empty() ? LabelUse::kOptional : LabelUse::kRequired;
  // Numbers stay what they are; only labels that are none become classes.
  options.labels = LabelKind::kReal;
  auto read = load(c.from, options);
  std::string no_number;  // the label that is none
  if (!read && is_labelled_by_words(c)) {
    no_number = read.error().message;
    options.labels = LabelKind::kClasses;
    read = load(c.from, options);
  }
  if (!read) return fail(std::move(read).error());
  Dataset& table = *read;
  Converted converted;
  converted.notes = table.notes;
  if (!no_number.empty() && are_mostly_numbers(table.labels))
    converted.notes.push_back("labels were taken for classes, not for numbers: " + no_number);
  converted.table.rows = static_cast<std::int64_t>(table.rows());
  converted.table.columns = table.features.cols();
  if (table.labels.values.empty()) converted.notes.emplace_back("no label column was found: every label is 0");
  if (!table.ids.empty()) converted.notes.emplace_back("LIBSVM has no ids: the id column was left out");
  if (table.labels.classes.size() == 2) {
    for (double& value : table.labels.values) value = value == 0 ? -1 : 1;
    converted.notes.push_back(fmt::format("labels: -1 is '{}', +1 is '{}'", printable(table.labels.classes[0]),
                                          printable(table.labels.classes[1])));
  } else if (!table.labels.classes.empty()) {
    std::string classes;
    for (std::size_t k = 0; k < std::min<std::size_t>(table.labels.classes.size(), 2); ++k)
      classes += fmt::format("{}{} is '{}'", k == 0 ? "" : ", ", k, printable(table.labels.classes[k]));
    converted.notes.push_back(fmt::format("labels: {}{}", classes, table.labels.classes.size() > 2 ? ", ..." : ""));
  }
  table.labels.classes.clear();
  PARLEY_CHECK(write_libsvm(out, table, c.first_index.value_or(1)));
  if (!c.names_file.empty()) {
    std::string names;
    for (const std::string& name : table.columns.list()) {
      if (name.find_first_of("\r\n") != std::string::npos)
        return fail(bad_input({c.from, 0, "--names"}, "has a line for each column; this name breaks its line", name));
      names += name + '\n';
    }
    PARLEY_CHECK(outputs.write_whole(c.names_file, names));
  }
  return converted;
}

}  // namespace

Result<Converted> convert(const Conversion& conversion) {
  Conversion c = conversion;
  if (c.to_format == Format::kDetect) {
    PARLEY_TRY(c.to_format, format_of_name(c.to));
  }
  if (c.from_format == Format::kDetect) {
    PARLEY_TRY(c.from_format, format_of_text(c.from));
  }
  const bool to_libsvm = c.to_format == Format::kLibsvm;
  const bool from_libsvm = c.from_format == Format::kLibsvm;
  if (c.first_index && !to_libsvm)
    return fail(bad_input({.field = "--zero-based"}, "is for LIBSVM files that are written"));
  if (c.schema && (from_libsvm || !to_libsvm))
    return fail(bad_input({.field = "--schema"}, "is for CSV files that become LIBSVM"));
  if (!c.names_file.empty() && (from_libsvm || !to_libsvm))
    return fail(bad_input({.field = "--names"}, "is for CSV files that become LIBSVM"));

  Outputs outputs(c.existing, {c.from, c.schema_file});
  PARLEY_TRY(OutputFile * out, outputs.open(c.to));
  auto converted = from_libsvm == to_libsvm ? repack(c, *out)
                   : from_libsvm            ? libsvm_to_csv(c, *out)
                                            : csv_to_libsvm(c, *out, outputs);
  if (!converted) return converted;
  PARLEY_CHECK(outputs.commit());
  converted->table.path = c.to;
  converted->table.bytes = out->bytes();
  converted->from = c.from_format;
  converted->to = c.to_format;
  return converted;
}

}  // namespace parley::data
