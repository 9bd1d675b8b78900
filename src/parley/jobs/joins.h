// Tables and how they join, as a job says it.
//
//   [[join]]
//   left  = ["ratings.user"]       # TABLE.COLUMN, several for a composite key
//   right = ["users.user"]
//   kind  = "inner"                # inner | left
//   missing = "zero"               # of a left join: rows without a partner get nothing from the right table, or the
//                                  # weight of a column that says so ("indicator")
//   [[union]]
//   table = "ratings"              # a table that is split by rows over parties
//   parties = ["shop-a", "shop-b"]
//
// TABLE is the name of a party or of a union.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
#include "parley/core/toml.h"
#include "parley/data/join.h"

namespace parley::jobs {

struct JobTable {
  std::string name;
  std::vector<int> parties;                    // by number; several of a union, whose rows are theirs one after another
  std::vector<std::vector<std::string>> keys;  // its keys, each a list of columns: KeyColumns of data::JoinKeys
  bool indicator = false;                      // rows without a tuple of this table get one of its own

  [[nodiscard]] std::vector<std::string> key_columns() const;  // each once
};

struct JobTables {
  std::vector<JobTable> tables;  // in the order of the parties; a union where its first party stands
  data::JoinSpec spec;

  [[nodiscard]] bool empty() const { return tables.empty(); }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view table) const;
  [[nodiscard]] std::size_t table_of(int party) const;
  // The table with the labels: `named`, or that of the party that has this name; no name: the left one of the first clause.
  [[nodiscard]] std::size_t label_table(std::string_view named, int party) const;
};

// Reads [[union]] and [[join]] of a job with these parties; mistakes are recorded in `toml`. Empty where it has neither.
JobTables read_joins(Toml& toml, const std::vector<std::string>& parties);

}  // namespace parley::jobs
