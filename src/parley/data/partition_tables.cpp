// A joined table back to a star: fact table and one dimension table per key.
//
// Column c moves to the dimension of key k when every value of k comes with one value of c (k -> c, a
// functional dependency of this file) or when the person names it; a named column that varies within a key is
// an error. The join of the written tables is the given table, cell by cell.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "parley/core/party_name.h"
#include "parley/core/text.h"
#include "parley/data/partition_parts.h"

namespace parley::data {

namespace {

struct Dimension {
  std::size_t key = 0;
  bool named = false;                  // columns were named by a person
  std::vector<std::size_t> columns;    // that move
  std::vector<std::size_t> first_row;  // record where each key value first occurs
};

Result<Dimension> read_key(const RawTable& table, const std::string& text) {
  Dimension dimension;
  // The whole text may be a name that holds a colon.
  const auto& names = table.names();
  const std::size_t colon =
      std::find(names.begin(), names.end(), text) == names.end() ? text.find(':') : std::string::npos;
  PARLEY_TRY(dimension.key, find_column(table, text.substr(0, colon), "--key"));
  if (colon == std::string::npos) return dimension;
  dimension.named = true;
  for (const std::string& name : pieces(std::string_view(text).substr(colon + 1), ',')) {
    PARLEY_TRY(const std::size_t column, find_column(table, name, "--key"));
    dimension.columns.push_back(column);
  }
  return dimension;
}

// Leaves in `candidates` those that the key determines; remembers where each key value occurs first.
Result<void> keep_determined(const RawTable& table, Dimension& dimension, std::vector<std::size_t>& candidates) {
  std::unordered_map<std::string, std::size_t> first;
  std::vector<std::string_view> cells;
  std::vector<std::string_view> reference;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    table.cells(row, cells);
    const auto [at, is_new] = first.try_emplace(table.content(cells[dimension.key]), row);
    if (is_new) {
      dimension.first_row.push_back(row);
      continue;
    }
    table.cells(at->second, reference);
    for (std::size_t k = 0; k < candidates.size();) {
      const std::size_t column = candidates[k];
      // Bytes first: unquoting is needed only where they differ.
      if (cells[column] == reference[column] || table.content(cells[column]) == table.content(reference[column])) {
        ++k;
        continue;
      }
      if (dimension.named)
        return fail(bad_input({table.file(), table.line(row), table.names()[column]},
                              fmt::format("differs from line {} with the same {}: the key does not determine it",
                                          table.line(at->second), table.names()[dimension.key]),
                              table.content(cells[column])));
      candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
  return {};
}

}  // namespace

Result<SplitResult> split_tables(const RawTable& table, const SplitTables& plan, std::uint64_t seed,
                                 const SplitOutput& output) {
  if (table.is_libsvm())
    return fail(bad_input({table.file(), 0, ""}, "LIBSVM has no key columns: split a CSV file by tables"));
  if (plan.keys.empty()) return fail(bad_input({.field = "--key"}, "at least one key column is needed"));
  PARLEY_TRY(const std::size_t label, label_column(table, plan.label));
  PARLEY_TRY(const std::size_t id, id_column(table, plan.id));

  std::vector<char> taken(table.names().size());  // label, id, keys, and what has moved
  if (label != SIZE_MAX) taken[label] = 1;
  if (id != SIZE_MAX) taken[id] = 1;
  std::vector<Dimension> dimensions;
  for (const std::string& text : plan.keys) {
    PARLEY_TRY(Dimension dimension, read_key(table, text));
    if (taken[dimension.key] != 0)
      return fail(bad_input({.field = "--key"}, "is the label, the id or given twice", table.names()[dimension.key]));
    taken[dimension.key] = 1;
    dimensions.push_back(std::move(dimension));
  }
  for (const Dimension& dimension : dimensions)
    for (const std::size_t column : dimension.columns) {
      if (taken[column] != 0)
        return fail(bad_input({.field = "--key"}, "is the label, the id, a key or named twice", table.names()[column]));
      taken[column] = 1;
    }

  for (Dimension& dimension : dimensions) {
    std::vector<std::size_t> candidates = dimension.columns;
    if (!dimension.named)
      for (std::size_t j = 0; j < taken.size(); ++j)
        if (taken[j] == 0) candidates.push_back(j);
    PARLEY_CHECK(keep_determined(table, dimension, candidates));
    if (dimension.first_row.size() == table.rows() && !dimension.named)
      return fail(bad_input({table.file(), 0, table.names()[dimension.key]},
                            "every value occurs once, so it determines everything: name its columns as KEY:a,b"));
    if (candidates.empty())
      return fail(
          bad_input({table.file(), 0, table.names()[dimension.key]}, "determines no other column: nothing to move"));
    dimension.columns = candidates;
    for (const std::size_t column : candidates) taken[column] = 1;
  }

  SplitFolder folder(table, seed, output, dimensions.size() + 1, "table");
  if (output.names.empty()) {
    std::vector<std::string> names = {"fact"};
    std::set<std::string> taken_names(names.begin(), names.end());
    for (const Dimension& dimension : dimensions) {
      std::string name = table.names()[dimension.key];
      for (char& c : name)
        if (c == '.' || !may_be_in_a_name(c)) c = '_';
      if (name == "fact" || !flaw_of_party_name(name).empty()) name = name.substr(0, 60) + "_key";
      // Different keys can be the same but for characters that a name must not have.
      for (std::size_t n = names.size() + 1; !taken_names.insert(name).second; ++n) name = fmt::format("table-{}", n);
      names.push_back(name);
    }
    folder.set_names(std::move(names));
  }
  if (folder.names().size() != dimensions.size() + 1)
    return fail(bad_input({.field = "--names"},
                          fmt::format("must name {} tables, the fact table first", dimensions.size() + 1),
                          std::to_string(folder.names().size())));
  PARLEY_CHECK(folder.check_names());

  const char delimiter = table.delimiter();
  const auto write = [&](std::size_t party, const std::vector<std::size_t>& columns, std::size_t rows,
                         std::size_t features, const auto& row_of) -> Result<void> {
    PARLEY_TRY(OutputFile * file,
               folder.open(party, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(features)));
    std::string header;
    std::vector<std::string> names;
    for (const std::size_t j : columns) {
      if (!names.empty()) header += delimiter;
      append_cell(header, table.names()[j], delimiter);
      names.push_back(table.names()[j]);
    }
    folder.note_columns(party, std::move(names));
    header += table.line_end();
    PARLEY_CHECK(file->write(header));
    return write_rows(*file, rows, 8 * columns.size(), [&](std::size_t row, std::string& text) {
      thread_local std::vector<std::string_view> cells;
      table.cells(row_of(row), cells);
      for (std::size_t k = 0; k < columns.size(); ++k) {
        if (k > 0) text += delimiter;
        text += cells[columns[k]];
      }
      text += table.line_end();
    });
  };

  std::vector<char> moved(table.names().size());
  for (const Dimension& dimension : dimensions)
    for (const std::size_t column : dimension.columns) moved[column] = 1;
  std::vector<std::size_t> fact;
  for (std::size_t j = 0; j < moved.size(); ++j)
    if (moved[j] == 0) fact.push_back(j);
  const std::size_t fact_features = fact.size() - dimensions.size() - (label != SIZE_MAX) - (id != SIZE_MAX);
  PARLEY_CHECK(write(0, fact, table.rows(), fact_features, [](std::size_t row) { return row; }));
  std::vector<std::string> notes;
  JobDraft job{.partition = "relational",
               .task = "linear",
               .l2 = 1e-3,
               .algorithm = "relational-admm",
               .iterations = 100,
               .label_party = folder.names()[0]};
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const Dimension& dimension = dimensions[d];
    std::vector<std::size_t> columns = {dimension.key};
    columns.insert(columns.end(), dimension.columns.begin(), dimension.columns.end());
    PARLEY_CHECK(write(d + 1, columns, dimension.first_row.size(), dimension.columns.size(),
                       [&](std::size_t row) { return dimension.first_row[row]; }));
    std::vector<std::string> names;
    for (const std::size_t column : dimension.columns) names.push_back(table.names()[column]);
    const std::string& key = table.names()[dimension.key];
    if (names.size() > 12) names = {names[0], names[1], fmt::format("... {} in all", names.size())};
    notes.push_back(fmt::format("{} determines {}: {} for {}", key, fmt::join(names, ", "),
                                counted(dimension.first_row.size(), "key"), counted(table.rows(), "record")));
    const std::string &facts = folder.names()[0], &table_of_key = folder.names()[d + 1];
    job.joins.push_back({facts + "." + key, table_of_key + "." + key});
  }
  PARLEY_CHECK(set_label(table, plan.label, label, job, notes));
  return folder.finish(std::move(job), "tables", std::move(notes));
}

}  // namespace parley::data
