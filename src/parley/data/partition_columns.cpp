// Which column goes to which party, and the files that follow from it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>

#include "parley/core/text.h"
#include "parley/data/partition_parts.h"
#include "parley/data/random.h"

namespace parley::data {

namespace {

// Features are numbered 0 .. count-1 here; `first` is the number that people give to feature 0.
struct Features {
  std::size_t count = 0;
  std::size_t first = 1;
  std::vector<std::string> names;  // empty for LIBSVM
};

// "7" or "5-9", in people's numbers.
std::optional<std::pair<std::size_t, std::size_t>> number_range(const std::string& text) {
  std::size_t from = 0;
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, from);
  if (error != std::errc()) return std::nullopt;
  if (at == end) return std::pair{from, from};
  std::size_t to = 0;
  if (*at != '-') return std::nullopt;
  const auto second = std::from_chars(at + 1, end, to);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return std::pair{from, to};
}

constexpr std::uint32_t kNobody = 0xFFFFFFFFu;

Result<std::vector<std::uint32_t>> assign_groups(const Features& features, const std::string& groups,
                                                 std::size_t& parts) {
  const auto wrong = [](std::string_view rule, const std::string& value) {
    return fail(bad_input({.field = "--groups"}, rule, value));
  };
  std::map<std::string, std::size_t> by_name;
  for (std::size_t j = 0; j < features.names.size(); ++j) by_name[features.names[j]] = j;
  std::vector<std::uint32_t> party(features.count, kNobody);
  std::optional<std::uint32_t> rest;
  const auto lists = pieces(groups, ';');
  parts = lists.size();
  std::vector<std::size_t> sizes(parts);
  for (std::size_t p = 0; p < parts; ++p) {
    for (const std::string& item : pieces(lists[p], ',')) {
      if (item == "*") {
        if (rest) return wrong("'*' can stand for the rest once", item);
        rest = static_cast<std::uint32_t>(p);
        continue;
      }
      std::size_t from = 0;
      std::size_t to = 0;
      if (const auto named = by_name.find(item); named != by_name.end()) {
        from = to = named->second;
      } else if (const auto range = number_range(item)) {
        if (range->first < features.first || range->second >= features.first + features.count ||
            range->first > range->second)
          return wrong(
              fmt::format("columns are numbered {} to {}", features.first, features.first + features.count - 1), item);
        from = range->first - features.first;
        to = range->second - features.first;
      } else {
        return wrong("is neither a feature column nor a range of numbers", item);
      }
      for (std::size_t j = from; j <= to; ++j) {
        if (party[j] != kNobody) return wrong("names a column twice", item);
        party[j] = static_cast<std::uint32_t>(p);
        ++sizes[p];
      }
    }
  }
  for (std::size_t j = 0; j < party.size(); ++j) {
    if (party[j] != kNobody) continue;
    if (!rest)
      return wrong("every column needs a party; '*' stands for the rest",
                   features.names.empty() ? std::to_string(j + features.first) : features.names[j]);
    party[j] = *rest;
    ++sizes[*rest];
  }
  if (std::find(sizes.begin(), sizes.end(), 0u) != sizes.end()) return wrong("every party needs a column", groups);
  return party;
}

Result<std::vector<std::uint32_t>> assign_columns(const Features& features, const SplitColumns& plan,
                                                  std::uint64_t seed, std::size_t& parts) {
  if (!plan.groups.empty() && !plan.counts.empty()) return fail(bad_input({.field = "--groups"}, "excludes --counts"));
  if (!plan.groups.empty()) return assign_groups(features, plan.groups, parts);
  std::vector<std::size_t> counts = plan.counts;
  if (counts.empty()) {
    if (plan.parts < 1 || plan.parts > features.count)
      return fail(bad_input({.field = "--parts"},
                            fmt::format("must lie between 1 and the number of feature columns, {}", features.count),
                            std::to_string(plan.parts)));
    for (std::size_t p = 0; p < plan.parts; ++p)
      counts.push_back(features.count * (p + 1) / plan.parts - features.count * p / plan.parts);
  }
  const std::size_t total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  if (total != features.count || std::find(counts.begin(), counts.end(), 0u) != counts.end())
    return fail(bad_input({.field = "--counts"}, fmt::format("must be at least 1 each and {} in all", features.count),
                          fmt::format("{}", fmt::join(counts, ","))));
  parts = counts.size();
  std::vector<std::uint32_t> order(features.count);
  std::iota(order.begin(), order.end(), 0u);
  if (plan.shuffle) {
    Random random(seed, 2);
    shuffle(random, order);
  }
  std::vector<std::uint32_t> party(features.count);
  std::size_t at = 0;
  for (std::size_t p = 0; p < parts; ++p)
    for (std::size_t k = 0; k < counts[p]; ++k) party[order[at++]] = static_cast<std::uint32_t>(p);
  return party;
}

Result<std::size_t> find_label_party(const SplitColumns& plan, const SplitFolder& folder) {
  if (plan.label_party.empty()) return 0;
  const auto& names = folder.names();
  const auto found = std::find(names.begin(), names.end(), plan.label_party);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const auto number = number_range(plan.label_party);
  if (number && number->first == number->second && number->first >= 1 && number->first <= names.size())
    return number->first - 1;
  return fail(bad_input({.field = "--label-party"},
                        fmt::format("must be a party's name or number; the names are {}", fmt::join(names, ", ")),
                        plan.label_party));
}

// Consecutive numbers as ranges: {"1-66", "70"}.
std::vector<std::string> as_ranges(const std::vector<std::size_t>& numbers) {
  std::vector<std::string> out;
  for (std::size_t k = 0; k < numbers.size();) {
    std::size_t last = k;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    out.push_back(last == k ? std::to_string(numbers[k]) : fmt::format("{}-{}", numbers[k], numbers[last]));
    k = last + 1;
  }
  return out;
}

JobDraft draft(const RowLabels& labels, const std::string& label_party) {
  return {.partition = "vertical",
          .task = task_of(labels),
          .l2 = 1e-3,
          .algorithm = "admm-sharing",
          .label_party = label_party};
}

Result<SplitResult> split_libsvm_columns(const RawTable& table, const SplitColumns& plan, std::uint64_t seed,
                                         const SplitOutput& output) {
  if (!plan.label.empty() || !plan.id.empty())
    return fail(bad_input({.field = plan.label.empty() ? "--id" : "--label"}, "LIBSVM files have no named columns"));
  const std::size_t first = table.first_index();
  const std::size_t count = table.last_index() + 1 - std::min<std::size_t>(first, table.last_index() + 1);
  if (count == 0) return fail(bad_input({table.file(), 0, ""}, "has no features to split"));
  constexpr std::size_t kMostColumns = std::size_t{1} << 24;
  if (count > kMostColumns)
    return fail(bad_input({table.file(), 0, "index"},
                          fmt::format("must be at most {}, to split by columns", kMostColumns - 1 + first),
                          std::to_string(table.last_index())));
  std::size_t parts = 0;
  PARLEY_TRY(const auto party, assign_columns({count, first, {}}, plan, seed, parts));
  SplitFolder folder(table, seed, output, parts, "party");
  if (folder.names().size() != parts)
    return fail(bad_input({.field = "--names"}, "must name " + counted(parts, "party", "parties"),
                          std::to_string(folder.names().size())));
  PARLEY_CHECK(folder.check_names());
  PARLEY_TRY(const std::size_t label_party, find_label_party(plan, folder));
  PARLEY_TRY(const RowLabels labels, row_labels(table, ""));

  std::vector<std::size_t> number(count);  // of each column in its party's file
  for (std::size_t p = 0; p < parts; ++p) {
    std::vector<std::size_t> mine;
    for (std::size_t j = 0; j < count; ++j) {
      if (party[j] != p) continue;
      number[j] = plan.keep_numbers ? j + first : mine.size() + first;
      mine.push_back(j + first);
    }
    PARLEY_TRY(OutputFile * file,
               folder.open(p, static_cast<std::int64_t>(table.rows()), static_cast<std::int64_t>(mine.size())));
    folder.note_columns(p, as_ranges(mine));
    const std::size_t per_row = table.rows() > 0 ? 64 : 1;
    PARLEY_CHECK(write_rows(*file, table.rows(), per_row, [&](std::size_t row, std::string& text) {
      thread_local std::vector<RawEntry> entries;
      table.entries(row, entries);
      if (p == label_party)
        text += table.label(row);
      else
        text += '0';
      for (const RawEntry& entry : entries) {
        const std::size_t j = entry.index - first;
        if (party[j] != p) continue;
        text += ' ';
        append_integer(text, static_cast<std::int64_t>(number[j]));
        text += ':';
        text += entry.value;
      }
      text += '\n';
    }));
  }
  std::vector<std::string> notes = {
      "LIBSVM has no ids: the order of the lines aligns the records",
      fmt::format("labels are at {}; the other files carry 0 in their place", folder.names()[label_party])};
  if (!plan.keep_numbers && parts > 1)
    notes.emplace_back("columns are numbered anew at each party; split.json has the old numbers");
  JobDraft job = draft(labels, folder.names()[label_party]);
  job.comment = notes[0] + ".";
  return folder.finish(std::move(job), "columns", std::move(notes));
}

}  // namespace

Result<SplitResult> split_columns(const RawTable& table, const SplitColumns& plan, std::uint64_t seed,
                                  const SplitOutput& output) {
  if (table.is_libsvm()) return split_libsvm_columns(table, plan, seed, output);
  PARLEY_TRY(const std::size_t label, label_column(table, plan.label));
  PARLEY_TRY(const std::size_t id, id_column(table, plan.id));
  if (label == SIZE_MAX)
    return fail(bad_input({table.file(), 0, "--label"}, "no column is called y, label, target or class: name it"));
  if (id == label) return fail(bad_input({.field = "--id"}, "cannot be the label", table.names()[id]));
  PARLEY_TRY(const RowLabels labels, row_labels(table, plan.label));

  Features features;
  std::vector<std::size_t> column_of;  // feature -> column of the file
  for (std::size_t j = 0; j < table.names().size(); ++j) {
    if (j == label || j == id) continue;
    features.names.push_back(table.names()[j]);
    column_of.push_back(j);
  }
  features.count = column_of.size();
  if (features.count == 0) return fail(bad_input({table.file(), 0, ""}, "has no features to split"));
  std::size_t parts = 0;
  PARLEY_TRY(const auto party, assign_columns(features, plan, seed, parts));
  SplitFolder folder(table, seed, output, parts, "party");
  if (folder.names().size() != parts)
    return fail(bad_input({.field = "--names"}, "must name " + counted(parts, "party", "parties"),
                          std::to_string(folder.names().size())));
  PARLEY_CHECK(folder.check_names());
  PARLEY_CHECK(folder.check_schema(label, id));
  PARLEY_TRY(const std::size_t label_party, find_label_party(plan, folder));

  const char delimiter = table.delimiter();
  std::vector<ColumnSchema> made;  // row numbers, where the table has no ids
  if (id == SIZE_MAX) made.push_back({.name = "id", .type = ColumnType::kId});
  for (std::size_t p = 0; p < parts; ++p) {
    std::vector<std::size_t> mine;
    if (id != SIZE_MAX) mine.push_back(id);
    if (p == label_party) mine.push_back(label);
    std::vector<std::string> names;
    for (std::size_t f = 0; f < features.count; ++f) {
      if (party[f] != p) continue;
      mine.push_back(column_of[f]);
      names.push_back(features.names[f]);
    }
    PARLEY_TRY(OutputFile * file,
               folder.open(p, static_cast<std::int64_t>(table.rows()), static_cast<std::int64_t>(names.size())));
    std::vector<std::string> held = names;
    if (id != SIZE_MAX) held.push_back(table.names()[id]);
    if (p == label_party) held.push_back(table.names()[label]);
    PARLEY_CHECK(folder.give_schema(p, folder.names()[p] + ".schema.toml", held, made));
    folder.note_columns(p, std::move(names));
    std::string header = id == SIZE_MAX ? "id" : "";
    for (const std::size_t j : mine) {
      if (!header.empty()) header += delimiter;
      append_cell(header, table.names()[j], delimiter);
    }
    header += table.line_end();
    PARLEY_CHECK(file->write(header));
    PARLEY_CHECK(write_rows(*file, table.rows(), 8 * mine.size(), [&](std::size_t row, std::string& text) {
      thread_local std::vector<std::string_view> cells;
      table.cells(row, cells);
      if (id == SIZE_MAX) append_integer(text, static_cast<std::int64_t>(row) + 1);
      for (std::size_t k = 0; k < mine.size(); ++k) {
        if (k > 0 || id == SIZE_MAX) text += delimiter;
        text += cells[mine[k]];
      }
      text += table.line_end();
    }));
  }
  std::vector<std::string> notes;
  if (id == SIZE_MAX)
    notes.emplace_back("no id column was found: each file has one called id, the number of the record");
  notes.push_back(fmt::format("the label '{}' is at {}", table.names()[label], folder.names()[label_party]));
  JobDraft job = draft(labels, folder.names()[label_party]);
  job.label_column = table.names()[label];
  return folder.finish(std::move(job), "columns", std::move(notes));
}

}  // namespace parley::data
