// How the tables of a model's parts join: what predictions on other tables need. Kept in every part, as "join" of its
// model.json. The margin of a row of the join is the sum of the parts' margins for the tuples that it uses.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/data/join.h"

namespace parley::models {

struct JoinOfParts {
  data::JoinSpec spec;
  std::vector<std::vector<std::vector<std::string>>> keys;  // of each table, its keys as lists of columns
  std::vector<int> table_of_part;
  int label_table = 0;
  bool operator==(const JoinOfParts&) const;

  // The columns that a part's table is read with, each once.
  [[nodiscard]] std::vector<std::string> key_columns(std::size_t part) const;
};

nlohmann::ordered_json to_json(const JoinOfParts& join);
Result<JoinOfParts> join_from_json(const nlohmann::ordered_json& json, const std::string& file);

// The rows of the join of these tables, one for each part; parts of one table hold its tuples one after another.
Result<data::JoinMap> join_tables(const JoinOfParts& join, std::span<const data::Dataset* const> tables);

}  // namespace parley::models
