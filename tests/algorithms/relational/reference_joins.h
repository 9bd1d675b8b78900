// The small joins of the shared reference values (relational.json), and what is expected of them.
#pragma once
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/algorithms/relational/joined_tables.h"
#include "tests/support/shared.h"

namespace parley::tests {

struct ReferenceJoin {
  nlohmann::json values;
  glm::Objective objective;
  algorithms::RelationalTerms tables;
  std::vector<algorithms::TableShare> shares;  // one party for each table

  [[nodiscard]] std::string name() const { return values.at("id"); }
  [[nodiscard]] std::string table(std::size_t i) const { return tables.join.tables[i]; }
};

// Numbers of nested lists, one after another.
inline void flatten(const nlohmann::json& json, std::vector<double>& out) {
  if (json.is_array())
    for (const nlohmann::json& each : json) flatten(each, out);
  else
    out.push_back(json.get<double>());
}
inline std::vector<double> numbers(const nlohmann::json& json) {
  std::vector<double> out;
  flatten(json, out);
  return out;
}

// d x c, row by row, as weights class by class.
inline std::vector<double> by_class(const std::vector<double>& by_row, std::size_t classes) {
  std::vector<double> out(by_row.size());
  const std::size_t columns = by_row.size() / classes;
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t k = 0; k < classes; ++k) out[k * columns + j] = by_row[j * classes + k];
  return out;
}

inline linalg::Matrix matrix_of(const nlohmann::json& rows, bool null_tuple) {
  const std::size_t tuples = rows.size() + (null_tuple ? 1 : 0);
  const std::size_t columns = rows.front().size() + (null_tuple ? 1 : 0);
  std::vector<double> values(tuples * columns, 0.0);
  for (std::size_t t = 0; t < rows.size(); ++t)
    for (std::size_t j = 0; j < rows[t].size(); ++j) values[j * tuples + t] = rows[t][j].get<double>();
  if (null_tuple) values.back() = 1;
  return linalg::Matrix::from_dense(static_cast<linalg::Index>(tuples), static_cast<linalg::Index>(columns), values);
}

inline ReferenceJoin reference_join(const nlohmann::json& problem) {
  ReferenceJoin made{.values = problem};
  const std::map<std::string, glm::Task> tasks = {
      {"linear", glm::Task::kLinear}, {"logistic", glm::Task::kLogistic}, {"softmax", glm::Task::kSoftmax}};
  made.objective = {.task = tasks.at(problem.at("task")), .classes = problem.at("classes"), .l2 = problem.at("l2")};
  std::map<std::string, int> number;
  for (const auto& table : problem.at("tables")) {
    const std::string name = table.at("name");
    number[name] = static_cast<int>(number.size());
    made.tables.join.tables.push_back(name);
    made.tables.table_of_party.push_back(number[name]);
    bool null_tuple = false;
    for (const auto& other : problem.at("null_tuple_tables")) null_tuple = null_tuple || other == name;
    made.tables.null_tuple.push_back(null_tuple);
    made.shares.push_back({.features = matrix_of(table.at("features"), null_tuple)});
  }
  // A key for each side of a clause; the text of a composite one is its columns' with a bar between.
  const auto add_key = [&](const std::string& name, const nlohmann::json& columns) {
    const auto at = static_cast<std::size_t>(number.at(name));
    const nlohmann::json& keys = problem.at("tables")[at].at("keys");
    std::vector<std::string> texts(problem.at("tables")[at].at("features").size());
    for (std::size_t t = 0; t < texts.size(); ++t) {
      for (const auto& column : columns) texts[t] += keys.at(column.get<std::string>())[t].dump() + "|";
      if (texts[t].find("null") != std::string::npos) texts[t].clear();
    }
    made.shares[at].keys.push_back(keys_of(texts));
    return static_cast<int>(made.shares[at].keys.size()) - 1;
  };
  for (const auto& join : problem.at("joins")) {
    const std::string left = join.at("left"), right = join.at("right");
    made.tables.join.edges.push_back(
        {.left = number.at(left),
         .right = number.at(right),
         .left_key = add_key(left, join.at("left_keys")),
         .right_key = add_key(right, join.at("right_keys")),
         .kind = join.at("type") == "left" ? data::JoinKind::kLeft : data::JoinKind::kInner});
  }
  for (std::size_t p = 0; p < made.shares.size(); ++p) made.shares[p].party = static_cast<int>(p);
  made.tables.label_table = number.at(problem.at("label_table"));
  made.shares[static_cast<std::size_t>(made.tables.label_table)].labels = numbers(problem.at("label_per_tuple"));
  return made;
}

// Nothing where the shared values are absent.
inline std::vector<ReferenceJoin> reference_joins() {
  std::vector<ReferenceJoin> joins;
  const auto folder = test::shared();
  if (!folder) return joins;
  std::ifstream file(*folder / "vectors" / "relational.json");
  if (!file) return joins;
  const nlohmann::json all = nlohmann::json::parse(file);
  for (const auto& problem : all.at("problems")) joins.push_back(reference_join(problem));
  return joins;
}

}  // namespace parley::tests
