#include "parley/runs/join_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "parley/catalog/federation.h"
#include "parley/catalog/party_table.h"
#include "parley/core/text.h"
#include "parley/data/key_digest.h"

namespace parley::runs {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::int64_t kNumber = sizeof(double);
constexpr std::int64_t kCoordinatorNumbers = 3;  // for each row and output: z, lambda and the sum of what tables add
constexpr double kPays = 1.5;                    // a gain below it is hardly worth two forms of the data

std::string human(std::int64_t bytes) {
  return human_bytes(static_cast<double>(bytes));
}

// Rows of all parties of a table, one party's after another's.
Result<std::vector<data::KeyText>> read_table(const jobs::Job& job, const jobs::JobTable& table, data::LabelUse labels,
                                              PlannedTable& planned, std::vector<std::string>& classes) {
  std::vector<data::KeyText> keys;
  for (const std::string& column : table.key_columns()) keys.emplace_back(column);
  for (const int party : table.parties) {
    const jobs::PartySection& section = job.parties[static_cast<std::size_t>(party)];
    PARLEY_TRY(const data::Dataset read, catalog::read_raw(job, party, catalog::files_of(section), labels));
    planned.tuples += static_cast<std::int64_t>(read.rows());
    planned.columns = read.features.cols();
    planned.bytes += static_cast<std::int64_t>(read.features.bytes());
    for (const std::string& name : read.labels.classes)
      if (std::find(classes.begin(), classes.end(), name) == classes.end()) classes.push_back(name);
    for (data::KeyText& key : keys) {
      const data::KeyText* own = read.key(key.column());
      if (own == nullptr)
        return fail(bad_input({section.data, 0, key.column()}, "is no key of this table, and the job joins by it"));
      key.append(*own);
    }
  }
  return keys;
}

std::vector<data::KeyColumns> digests_of(const jobs::JobTable& table, const std::vector<data::KeyText>& texts) {
  std::vector<data::KeyColumns> keys;
  for (const std::vector<std::string>& columns : table.keys) {
    std::vector<const data::KeyText*> parts;
    for (const std::string& column : columns)
      parts.push_back(&*std::find_if(texts.begin(), texts.end(),
                                     [&](const data::KeyText& text) { return text.column() == column; }));
    keys.push_back(data::digests_within(parts));
  }
  return keys;
}

}  // namespace

std::int64_t JoinPlan::bytes_per_epoch() const {
  std::int64_t used = 0;
  for (const PlannedTable& table : tables) used += table.used();
  return 2 * kNumber * outputs * used;
}

std::int64_t JoinPlan::bytes_per_epoch_unreduced() const {
  return 2 * kNumber * outputs * rows * static_cast<std::int64_t>(tables.size());
}

std::int64_t JoinPlan::memory_bytes() const {
  std::int64_t bytes = rows * (static_cast<std::int64_t>(sizeof(std::int32_t) * tables.size()) +
                               kCoordinatorNumbers * kNumber * outputs);
  for (const PlannedTable& table : tables) bytes += table.bytes + 2 * kNumber * outputs * table.tuples;
  return bytes;
}

std::int64_t JoinPlan::memory_bytes_materialised() const {
  std::int64_t columns = 0;
  for (const PlannedTable& table : tables) columns += table.columns;
  return rows * kNumber * (columns + kCoordinatorNumbers * outputs);
}

// A pass takes a product for each stored number twice (X theta and X'g), and a gather and a scatter for each row and
// table in the factorised form.
double JoinPlan::factorised_gain() const {
  double whole = 0, parts = 0;
  for (const PlannedTable& table : tables) {
    whole += 2.0 * static_cast<double>(rows) * static_cast<double>(table.columns);
    parts +=
        2.0 * static_cast<double>(table.used()) * static_cast<double>(table.columns) + 2.0 * static_cast<double>(rows);
  }
  return parts > 0 ? whole / parts : 1;
}

Result<JoinPlan> plan_join(const jobs::Job& job) {
  JoinPlan plan;
  data::JoinKeys keys;
  std::vector<std::string> classes;
  const std::string& holder = job.labels.party.empty() ? job.parties.front().name : job.labels.party;
  for (const jobs::JobTable& table : job.tables.tables) {
    const bool labelled = table.name == holder || std::any_of(table.parties.begin(), table.parties.end(), [&](int p) {
                            return job.parties[static_cast<std::size_t>(p)].name == holder;
                          });
    PlannedTable planned{.name = table.name};
    PARLEY_TRY(const std::vector<data::KeyText> texts,
               read_table(job, table, labelled ? data::LabelUse::kRequired : data::LabelUse::kNone, planned, classes));
    keys.push_back(digests_of(table, texts));
    for (std::size_t t = 0; t < static_cast<std::size_t>(planned.tuples); ++t)
      planned.missing_keys += std::any_of(keys.back().begin(), keys.back().end(),
                                          [t](const data::KeyColumns& key) { return key.missing(t); })
                                  ? 1
                                  : 0;
    plan.tables.push_back(std::move(planned));
  }
  const auto map = data::join(job.tables.spec, keys, job.data.largest_join);
  if (!map) return fail(bad_input({job.file, 0, ""}, map.error().message));
  plan.rows = static_cast<std::int64_t>(map->rows());
  plan.outputs = catalog::objective_of(job, classes).classes;
  for (std::size_t i = 0; i < plan.tables.size(); ++i) {
    PlannedTable& table = plan.tables[i];
    table.unused = map->unused[i];
    table.rows_without = std::count(map->tuple_of[i].begin(), map->tuple_of[i].end(), -1);
    const std::vector<std::int32_t> uses = map->uses(i);
    if (!uses.empty()) table.most_used = *std::max_element(uses.begin(), uses.end());
  }
  return plan;
}

std::string join_table(const JoinPlan& plan) {
  std::string out =
      fmt::format("  {:<18} {}\n\n  {:<18} {:>12} {:>9} {:>12} {:>9} {:>12} {:>13}\n", "rows of the join",
                  with_commas(plan.rows), "table", "tuples", "columns", "fan-out", "most", "unused", "rows without");
  for (const PlannedTable& table : plan.tables)
    out += fmt::format("  {:<18} {:>12} {:>9} {:>12.3g} {:>9} {:>12} {:>13}\n", printable(table.name, 18),
                       with_commas(table.tuples), with_commas(table.columns),
                       table.used() > 0
                           ? static_cast<double>(plan.rows - table.rows_without) / static_cast<double>(table.used())
                           : 0.0,
                       with_commas(table.most_used), with_commas(table.unused), with_commas(table.rows_without));
  out += "  (fan-out: rows that use a tuple, on average and at most; unused: tuples that no row uses)\n\n";
  for (const PlannedTable& table : plan.tables)
    if (table.missing_keys > 0)
      out += fmt::format("  note: {} of '{}' a key that is missing and matches nothing\n",
                         counted(table.missing_keys, "tuple has", "tuples have"), printable(table.name));
  const double gain = plan.factorised_gain();
  out += fmt::format("  {:<18} {} both ways in an epoch; {} with a number for each row and table\n", "traffic",
                     human(plan.bytes_per_epoch()), human(plan.bytes_per_epoch_unreduced()));
  out += fmt::format("  {:<18} about {}; {} with the join as a table of doubles\n", "memory",
                     human(plan.memory_bytes()), human(plan.memory_bytes_materialised()));
  out += fmt::format(
      "  {:<18} {}\n", "cheaper form",
      gain >= kPays ? fmt::format("factorised: a pass over the join as a table is {:.2g} times the work", gain)
      : gain >= 1   ? fmt::format("about equal: a pass over the join as a table is {:.2g} times the work", gain)
                    : fmt::format("materialised: a pass over the join as a table is {:.2g} times the work", gain));
  return out;
}

std::string join_json(const JoinPlan& plan) {
  Json json{{"rows", plan.rows}, {"tables", Json::array()}};
  for (const PlannedTable& table : plan.tables)
    json["tables"].push_back({{"name", table.name},
                              {"tuples", table.tuples},
                              {"columns", table.columns},
                              {"largest_fan_out", table.most_used},
                              {"unused_tuples", table.unused},
                              {"missing_keys", table.missing_keys},
                              {"rows_without", table.rows_without}});
  json["bytes_per_epoch"] = plan.bytes_per_epoch();
  json["bytes_per_epoch_unreduced"] = plan.bytes_per_epoch_unreduced();
  json["memory_bytes"] = plan.memory_bytes();
  json["memory_bytes_materialised"] = plan.memory_bytes_materialised();
  json["factorised_gain"] = plan.factorised_gain();
  json["cheaper"] = plan.factorised_gain() >= 1 ? "factorised" : "materialised";
  return json.dump();
}

}  // namespace parley::runs
