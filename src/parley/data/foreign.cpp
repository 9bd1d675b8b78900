#include "parley/data/foreign.h"

#include <fmt/format.h>

namespace parley::data {

namespace {

using namespace std::string_view_literals;

struct Kind {
  std::string_view magic;
  std::string_view advice;
};

std::string by_pandas(std::string_view form) {
  return fmt::format(
      ": write it as CSV first, as in python3 -c \"import pandas; pandas.read_{}('FILE').to_csv('table.csv', "
      "index=False)\"",
      form);
}

constexpr Kind kKinds[] = {
    {"PAR1\x15"sv, "is a Parquet file"},
    {"ARROW1\0"sv, "is an Arrow (Feather) file"},
    {"FEA1\0"sv, "is a Feather file"},
    {"SQLite format 3\0"sv, "is a database of SQLite: name one of its tables, as in sqlite:{}?table=NAME"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "is an Excel workbook (.xls): save the sheet as CSV (File, Save As)"},
    {"\x89HDF\r\n\x1a\n"sv, "is an HDF5 file: write the table as CSV first"},
    {"\x93NUMPY"sv, "is a NumPy array: write it as CSV first, with numpy.savetxt(..., delimiter=\",\")"},
    {"RDX3\nX\n"sv, "is an R data file: write the table as CSV first, with write.csv(table, row.names = FALSE)"},
    {"RDX2\nX\n"sv, "is an R data file: write the table as CSV first, with write.csv(table, row.names = FALSE)"},
};

bool begins_with_word(std::string_view text, std::string_view lower) {
  if (text.size() < lower.size()) return false;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
    if (c != lower[i]) return false;
  }
  return true;
}

// Comments (%) and empty lines, then @relation.
bool is_arff(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '%') return begins_with_word(line.substr(first), "@relation");
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return false;
}

// Two zeros, the type of the values, the number of dimensions, and a size for each (MNIST and its relatives).
bool is_idx(std::string_view text) {
  return text.size() >= 8 && text[0] == 0 && text[1] == 0 && "\x08\x09\x0b\x0c\x0d\x0e"sv.find(text[2]) != text.npos &&
         text[3] >= 1 && text[3] <= 4;
}

}  // namespace

Result<void> refuse_foreign(std::string_view start, const std::string& file_name) {
  const auto refuse = [&](const std::string& rule) { return fail(bad_input({file_name, 0, ""}, rule)); };
  for (const Kind& kind : kKinds) {
    if (!start.starts_with(kind.magic)) continue;
    std::string rule(kind.advice);
    if (rule.ends_with("Parquet file")) rule += by_pandas("parquet");
    if (rule.ends_with(" file") && rule.find("Feather") != std::string::npos) rule += by_pandas("feather");
    if (const std::size_t at = rule.find("{}"); at != std::string::npos) rule.replace(at, 2, file_name);
    return refuse(rule);
  }
  if (start.starts_with("PK\x03\x04"sv))
    return refuse(start.find("xl/") != start.npos || start.find("[Content_Types].xml") != start.npos
                      ? "is an Excel workbook (.xlsx): save the sheet as CSV (File, Save As)"
                      : "is a zip archive: unpack it, and name the table that is in it");
  if (is_arff(start))
    return refuse(
        "is an ARFF file: save what follows its @data line as CSV, with the names of the @attribute lines as header");
  if (is_idx(start))
    return refuse("is an IDX file (images or labels, as of MNIST): write its values as CSV or LIBSVM, a record a line");
  return {};
}

}  // namespace parley::data
