#include "parley/jobs/joins.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "parley/core/party_name.h"
#include "parley/core/text.h"

namespace parley::jobs {

namespace {

struct Union {
  std::string table;
  std::vector<int> parties;
};

std::vector<Union> read_unions(Toml& toml, const std::vector<std::string>& names) {
  std::vector<Union> unions;
  std::vector<char> taken(names.size());
  for (Toml& section : toml.tables("union")) {
    Union read;
    std::vector<std::string> members;
    section.require("table");
    section.require("parties");
    section.text("table", read.table);
    section.texts("parties", members);
    if (const std::string_view flaw = flaw_of_party_name(read.table);
        section.kind("table") == Toml::Kind::kText && !flaw.empty())
      section.reject("table", flaw, read.table);
    const bool twice = std::any_of(unions.begin(), unions.end(), [&](const Union& u) { return u.table == read.table; });
    if (twice || std::find(names.begin(), names.end(), read.table) != names.end())
      section.reject("table", "is the name of a party or of another union; a union's table has a new name", read.table);
    if (section.kind("parties") == Toml::Kind::kArray && members.empty())
      section.reject("parties", "must name the parties that hold rows of the table");
    for (const std::string& member : members) {
      const auto at = std::find(names.begin(), names.end(), member);
      if (at == names.end()) {
        section.reject("parties", "names no [[party]] of this job" + suggestion(member, names), member);
        continue;
      }
      const auto number = static_cast<std::size_t>(at - names.begin());
      if (taken[number]++ != 0) section.reject("parties", "a party holds rows of one table, once", member);
      read.parties.push_back(static_cast<int>(number));
    }
    unions.push_back(std::move(read));
  }
  return unions;
}

std::vector<JobTable> tables_of(const std::vector<std::string>& parties, std::vector<Union> unions) {
  std::vector<JobTable> tables;
  for (int p = 0; p < static_cast<int>(parties.size()); ++p) {
    const auto holder = std::find_if(unions.begin(), unions.end(), [p](const Union& u) {
      return std::find(u.parties.begin(), u.parties.end(), p) != u.parties.end();
    });
    if (holder == unions.end()) {
      tables.push_back({.name = parties[static_cast<std::size_t>(p)], .parties = {p}});
    } else if (p == *std::min_element(holder->parties.begin(), holder->parties.end())) {
      tables.push_back({.name = holder->table, .parties = holder->parties});
    }
  }
  return tables;
}

// One side of a clause.
struct Side {
  std::size_t table = 0;
  std::vector<std::string> columns;
};

class Clauses {
 public:
  Clauses(const std::vector<std::string>& parties, JobTables& tables) : parties_(parties), tables_(tables) {
    for (const JobTable& table : tables.tables) names_.push_back(table.name);
  }

  void read(Toml& section) {
    const std::optional<Side> left = side(section, "left"), right = side(section, "right");
    data::JoinEdge edge;
    section.choice<data::JoinKind>("kind", edge.kind,
                                   {{"inner", data::JoinKind::kInner}, {"left", data::JoinKind::kLeft}});
    bool indicator = false;
    section.choice<bool>("missing", indicator, {{"zero", false}, {"indicator", true}});
    if (section.has("missing") && edge.kind != data::JoinKind::kLeft)
      section.reject("missing", "is for left joins (kind = \"left\"): an inner one drops rows without a partner");
    if (!left || !right) return;
    if (left->columns.size() != right->columns.size())
      return section.reject("right", fmt::format("must have as many columns as left, {}", left->columns.size()),
                            std::to_string(right->columns.size()));
    edge.left = static_cast<int>(left->table);
    edge.right = static_cast<int>(right->table);
    edge.left_key = key_of(*left);
    edge.right_key = key_of(*right);
    tables_.tables[right->table].indicator |= indicator;
    tables_.spec.edges.push_back(edge);
  }

 private:
  std::optional<Side> side(Toml& section, const char* key) {
    std::vector<std::string> references;
    section.require(key);
    if (!section.texts(key, references)) return std::nullopt;
    if (references.empty()) section.reject(key, "must name a column, as in [\"users.user\"]");
    std::optional<Side> side;
    for (const std::string& text : references) {
      // Names of tables may hold dots: the longest that fits is meant.
      std::optional<std::size_t> table;
      for (std::size_t i = 0; i < names_.size(); ++i)
        if (text.size() > names_[i].size() + 1 && text.starts_with(names_[i] + ".") &&
            (!table || names_[i].size() > names_[*table].size()))
          table = i;
      if (!table) {
        reject_reference(section, key, text);
        return std::nullopt;
      }
      const std::string column = text.substr(names_[*table].size() + 1);
      if (!side) side = Side{*table, {}};
      if (side->table != *table) section.reject(key, "all columns of a side are of one table", text);
      if (std::find(side->columns.begin(), side->columns.end(), column) != side->columns.end())
        section.reject(key, "names a column twice", text);
      side->columns.push_back(column);
    }
    return side;
  }

  void reject_reference(Toml& section, const char* key, const std::string& text) {
    for (std::size_t p = 0; p < parties_.size(); ++p) {
      if (!text.starts_with(parties_[p] + ".")) continue;
      const JobTable& table = tables_.tables[tables_.table_of(static_cast<int>(p))];
      return section.reject(key,
                            fmt::format("'{}' holds rows of the union '{}', which is the table", printable(parties_[p]),
                                        printable(table.name)),
                            text);
    }
    const std::string table = text.substr(0, text.find('.'));
    section.reject(key,
                   text.find('.') == std::string::npos
                       ? std::string("must be TABLE.COLUMN")
                       : "must be TABLE.COLUMN, with a party's or a union's name" + suggestion(table, names_),
                   text);
  }

  int key_of(const Side& side) {
    auto& keys = tables_.tables[side.table].keys;
    const auto at = std::find(keys.begin(), keys.end(), side.columns);
    if (at == keys.end()) keys.push_back(side.columns);
    return static_cast<int>(std::find(keys.begin(), keys.end(), side.columns) - keys.begin());
  }

  const std::vector<std::string>& parties_;
  JobTables& tables_;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> JobTable::key_columns() const {
  std::vector<std::string> columns;
  for (const auto& key : keys)
    for (const std::string& column : key)
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
  return columns;
}

std::optional<std::size_t> JobTables::find(std::string_view table) const {
  const auto at =
      std::find_if(tables.begin(), tables.end(), [&](const JobTable& candidate) { return candidate.name == table; });
  if (at == tables.end()) return std::nullopt;
  return static_cast<std::size_t>(at - tables.begin());
}

std::size_t JobTables::label_table(std::string_view named, int party) const {
  if (named.empty()) return spec.edges.empty() ? 0 : static_cast<std::size_t>(spec.edges.front().left);
  const auto table = find(named);
  return table ? *table : table_of(party);
}

std::size_t JobTables::table_of(int party) const {
  const auto at = std::find_if(tables.begin(), tables.end(), [&](const JobTable& table) {
    return std::find(table.parties.begin(), table.parties.end(), party) != table.parties.end();
  });
  return static_cast<std::size_t>(at - tables.begin());
}

JobTables read_joins(Toml& toml, const std::vector<std::string>& parties) {
  JobTables tables;
  std::vector<Union> unions = read_unions(toml, parties);
  std::vector<Toml> joins = toml.tables("join");
  if (unions.empty() && joins.empty()) return tables;
  tables.tables = tables_of(parties, std::move(unions));
  for (const JobTable& table : tables.tables) tables.spec.tables.push_back(table.name);
  Clauses clauses(parties, tables);
  for (Toml& section : joins) clauses.read(section);
  return tables;
}

}  // namespace parley::jobs
