#include "parley/catalog/introduction.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "parley/catalog/party_table.h"
#include "parley/catalog/private_site.h"
#include "parley/core/version.h"

namespace parley::catalog {

namespace {

// FNV-1a; never 0.
class Digest {
 public:
  void add(const std::string& text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    add(static_cast<unsigned char>(0));
  }
  void add(double number) {
    for (std::uint64_t bits = std::bit_cast<std::uint64_t>(number), i = 0; i < 8; ++i, bits >>= 8) add(static_cast<unsigned char>(bits));
  }
  [[nodiscard]] std::int64_t value() const { return static_cast<std::int64_t>(hash_ | 1); }

 private:
  void add(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3; }
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

// Of the ids and their ends.
std::int64_t digest(const std::vector<std::string>& ids) {
  if (ids.empty()) return 0;
  Digest digest;
  for (const std::string& id : ids) digest.add(id);
  return digest.value();
}

// Of everything that the party trains on.
std::int64_t digest(const data::Dataset& table) {
  Digest digest;
  digest.add(static_cast<double>(table.rows()));
  for (linalg::Index j = 0; j < table.features.cols(); ++j)
    table.features.for_each_in_column(j, [&](linalg::Index row, double value) {
      if (value == 0) return;  // stored or not
      digest.add(static_cast<double>(j));
      digest.add(static_cast<double>(row));
      digest.add(value);
    });
  for (const double label : table.labels.values) digest.add(label);
  for (const std::string& id : table.ids) digest.add(id);
  return digest.value();
}

// Of a column that is left out, its name alone: readers of other tables need that to leave it out too.
data::Schema used(data::Schema schema) {
  for (data::ColumnSchema& column : schema.columns)
    if (column.type == data::ColumnType::kIgnore) column = {.name = column.name, .type = column.type, .confirmed = column.confirmed};
  return schema;
}

}  // namespace

data::ColumnNames Introduction::column_names() const {
  return columns.empty() ? data::ColumnNames::numbered(first_number, column_count) : data::ColumnNames(columns);
}

Introduction introduce(const PartyTable& table) {
  const data::Dataset& train = table.train;
  Introduction said;
  said.party = table.party;
  said.rows = static_cast<std::int64_t>(table.site ? table.site->facts().records : train.rows());
  if (table.site && table.site->purse().unit == privacy::Unit::kClient) said.rows = 0;
  // Who the records are about is said only where the parties must have the same.
  if (table.aligned && table.ids_are_public) said.alignment = digest(train.ids);
  if (!table.aligned && !table.site) said.alignment = digest(train);
  if (table.site)
    said.row_norm = table.site->facts().row_bound;  // public
  else
    for (const double squares : table.features.row_squared_norms()) said.row_norm = std::max(said.row_norm, std::sqrt(squares));
  said.column_count = static_cast<int>(train.columns.size());
  if (const auto first = first_number(train.columns))
    said.first_number = *first;
  else
    said.columns = train.columns.list();
  for (const double bound : train.bounds) said.bounds.push_back(std::isfinite(bound) ? bound : 0.0);
  said.scales = table.scaling.scales;
  said.centers = table.scaling.centers;
  said.labels = !train.labels.values.empty();
  said.classes = train.labels.classes;
  said.schema = data::to_toml(used(train.schema));
  if (table.site) {
    const Expected& expected = table.site->expected();
    said.plan = privacy::to_json(expected.plan);
    said.epsilon = expected.epsilon;
    said.delta = expected.delta;
    said.derivative_bound = table.site->terms().derivative_bound;
  }
  return said;
}

Result<Trained> blank_model(const Job& job, const glm::Objective& objective, const Introduction& introduction) {
  Trained trained;
  trained.objective = objective;
  trained.columns = introduction.column_names();
  trained.label = job.labels.column;
  PARLEY_TRY(trained.schema, data::parse_schema(introduction.schema, introduction.party + " (schema)"));
  trained.provenance = {job.name, job.algorithm, kVersion, job.seed, static_cast<std::size_t>(introduction.rows), kNotPrivate};
  glm::Model& model = trained.model;
  model.task = objective.task;
  model.columns = trained.columns.list();
  model.weights.assign(static_cast<std::size_t>(objective.classes) * model.columns.size(), 0.0);
  model.scales = introduction.scales;
  model.centers = introduction.centers;
  model.unit_rows = job.data.unit_rows;
  for (const double bound : introduction.bounds) model.bounds.push_back(bound > 0 ? bound : data::kUnbounded);
  model.classes = introduction.classes;
  return trained;
}

}  // namespace parley::catalog
