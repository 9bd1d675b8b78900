#include "parley/models/join_of_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "parley/data/key_digest.h"

namespace parley::models {

using Json = nlohmann::ordered_json;

bool JoinOfParts::operator==(const JoinOfParts& other) const {
  return spec.tables == other.spec.tables && spec.edges == other.spec.edges && keys == other.keys &&
         table_of_part == other.table_of_part && label_table == other.label_table;
}

std::vector<std::string> JoinOfParts::key_columns(std::size_t part) const {
  std::vector<std::string> columns;
  for (const std::vector<std::string>& key : keys[static_cast<std::size_t>(table_of_part[part])])
    for (const std::string& column : key)
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
  return columns;
}

Json to_json(const JoinOfParts& join) {
  Json tables = Json::array(), clauses = Json::array();
  for (std::size_t i = 0; i < join.spec.tables.size(); ++i)
    tables.push_back({{"name", join.spec.tables[i]}, {"keys", join.keys[i]}});
  for (const data::JoinEdge& edge : join.spec.edges)
    clauses.push_back({{"left", edge.left},
                       {"left_key", edge.left_key},
                       {"right", edge.right},
                       {"right_key", edge.right_key},
                       {"kind", edge.kind == data::JoinKind::kLeft ? "left" : "inner"}});
  return {
      {"tables", tables}, {"clauses", clauses}, {"table_of_part", join.table_of_part}, {"labels", join.label_table}};
}

namespace {

// Whether the numbers name tables and keys that are there.
bool holds_together(const JoinOfParts& join) {
  const auto is_table = [&](int table) { return table >= 0 && table < static_cast<int>(join.spec.tables.size()); };
  const auto is_key = [&](int table, int key) {
    return is_table(table) && key >= 0 && key < static_cast<int>(join.keys[static_cast<std::size_t>(table)].size());
  };
  return !join.spec.tables.empty() && is_table(join.label_table) &&
         std::all_of(join.table_of_part.begin(), join.table_of_part.end(), is_table) &&
         std::all_of(join.spec.edges.begin(), join.spec.edges.end(), [&](const data::JoinEdge& edge) {
           return is_key(edge.left, edge.left_key) && is_key(edge.right, edge.right_key);
         });
}

}  // namespace

Result<JoinOfParts> join_from_json(const Json& json, const std::string& file) {
  JoinOfParts join;
  try {
    for (const Json& table : json.at("tables")) {
      join.spec.tables.push_back(table.at("name"));
      join.keys.push_back(table.at("keys"));
    }
    for (const Json& clause : json.at("clauses"))
      join.spec.edges.push_back({.left = clause.at("left"),
                                 .right = clause.at("right"),
                                 .left_key = clause.at("left_key"),
                                 .right_key = clause.at("right_key"),
                                 .kind = clause.at("kind") == "left" ? data::JoinKind::kLeft : data::JoinKind::kInner});
    join.table_of_part = json.at("table_of_part").get<std::vector<int>>();
    join.label_table = json.at("labels");
  } catch (const Json::exception&) {
    return fail(bad_input({file, 0, "part.join"}, "is not a join as parley train writes it"));
  }
  if (!holds_together(join)) return fail(bad_input({file, 0, "part.join"}, "names tables or keys that are not there"));
  return join;
}

Result<data::JoinMap> join_tables(const JoinOfParts& join, std::span<const data::Dataset* const> tables) {
  data::JoinKeys keys(join.keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (const std::vector<std::string>& columns : join.keys[i]) {
      std::vector<data::KeyText> together;
      for (const std::string& column : columns) together.emplace_back(column);
      for (std::size_t p = 0; p < tables.size(); ++p) {
        if (join.table_of_part[p] != static_cast<int>(i)) continue;
        for (std::size_t c = 0; c < columns.size(); ++c) {
          const data::KeyText* key = tables[p]->key(columns[c]);
          if (key == nullptr)
            return fail(
                bad_input({join.spec.tables[i], 0, columns[c]}, "is a key of the join, and the table lacks it"));
          together[c].append(*key);
        }
      }
      std::vector<const data::KeyText*> parts;
      for (const data::KeyText& key : together) parts.push_back(&key);
      keys[i].push_back(data::digests_within(parts));
    }
  return data::join(join.spec, keys);
}

}  // namespace parley::models
