#include "parley/catalog/tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "parley/catalog/classes.h"
#include "parley/catalog/relational_terms.h"
#include "parley/core/text.h"
#include "parley/linalg/builder.h"
#include "parley/linalg/vectors.h"
#include "parley/models/blank_model.h"
#include "parley/models/joined_margins.h"
#include "parley/rounds/party.h"

namespace parley::catalog {

using linalg::Index;

namespace {

const jobs::JobTable& table_of(const jobs::Job& job, int party) {
  return job.tables.tables[job.tables.table_of(party)];
}

bool in_label_table(const jobs::Job& job, int party) {
  return jobs::holds_labels(job, party);
}

// The last party of a table has the tuple of rows without one.
bool holds_missing_tuple(const jobs::Job& job, int party) {
  const jobs::JobTable& table = table_of(job, party);
  return table.indicator && *std::max_element(table.parties.begin(), table.parties.end()) == party;
}

bool has_constant(const jobs::Job& job, int party) {
  return job.objective.intercept == glm::Intercept::kPenalised && in_label_table(job, party);
}

// What the columns of ones and of rows without a tuple add to a table's.
std::size_t added_columns(const jobs::Job& job, int party) {
  return (table_of(job, party).indicator ? 1 : 0) + (has_constant(job, party) ? 1 : 0);
}

int number_of(const jobs::Job& job, const std::string& party) {
  const auto at = std::find_if(job.parties.begin(), job.parties.end(),
                               [&](const jobs::PartySection& each) { return each.name == party; });
  return static_cast<int>(at - job.parties.begin());
}

// Parties without labels learn the classes' names from the job alone, and else number them.
std::vector<std::string> classes_of(const jobs::Job& job, const jobs::Introduction& party, std::size_t outputs) {
  if (glm::has_real_labels(job.objective.task)) return {};
  if (!party.classes.empty()) return party.classes;
  if (outputs == 1) return {"-1", "+1"};
  std::vector<std::string> names;
  for (std::size_t k = 0; k < outputs; ++k) names.push_back(std::to_string(k));
  return names;
}

// Of the columns of one key.
Result<data::KeyColumns> digests_of(const data::Dataset& table, const std::vector<std::string>& columns,
                                    const PartySource& source) {
  std::vector<const data::KeyText*> texts;
  for (const std::string& column : columns) {
    texts.push_back(table.key(column));
    if (texts.back() == nullptr)
      return fail(bad_input({source.train.name(), 0, column},
                            "is what the job joins by: give it type = \"key\" in the schema"));
  }
  if (source.secret) return data::digests_between(texts, *source.secret);
  return data::digests_within(texts);
}

}  // namespace

Result<models::Trained> part_of_table(const jobs::Job& job, const jobs::Introduction& party,
                                      std::span<const double> weights) {
  const int number = number_of(job, party.party);
  const auto columns = static_cast<std::size_t>(party.column_count);
  const std::size_t width = columns + added_columns(job, number);
  const std::size_t outputs = width == 0 ? 1 : std::max<std::size_t>(weights.size() / width, 1);
  const std::vector<std::string> classes = classes_of(job, party, outputs);
  glm::Objective objective = objective_of(job, classes);
  PARLEY_TRY(models::Trained trained, models::blank_model(job, objective, party));
  if (!party.labels) trained.label.clear();
  trained.model.classes = classes;
  trained.part = models::PartOf{party.party, party.labels, {}, join_of_parts(job), {}};
  for (const jobs::PartySection& each : job.parties) trained.part->parties.push_back(each.name);
  trained.provenance.run = job.run;
  if (weights.size() != outputs * width) return trained;
  for (std::size_t k = 0; k < outputs; ++k) {
    const std::span<const double> of_class = weights.subspan(k * width, width);
    std::copy_n(of_class.begin(), columns, trained.model.weights.begin() + static_cast<std::ptrdiff_t>(k * columns));
    if (table_of(job, number).indicator) trained.part->without_tuple.push_back(of_class[columns]);
    if (has_constant(job, number)) trained.model.intercepts.push_back(of_class.back());
  }
  return trained;
}

// The label table's rows are split for a test; the rows of the others are joined to both halves.
Result<std::vector<PartyTable>> read_tables(const jobs::Job& job, std::span<const int> parties,
                                            const Sources& sources) {
  std::vector<data::Dataset> as_they_are;
  for (std::size_t p = 0; p < parties.size(); ++p) {
    const auto labels = in_label_table(job, parties[p]) ? data::LabelUse::kRequired : data::LabelUse::kNone;
    PARLEY_TRY(as_they_are.emplace_back(), read_raw(job, parties[p], sources[p], labels));
  }
  std::vector<data::Dataset> labelled;
  for (std::size_t p = 0; p < parties.size(); ++p)
    if (in_label_table(job, parties[p])) labelled.push_back(as_they_are[p]);
  AgreedClasses classes;
  if (!labelled.empty()) {
    PARLEY_TRY(classes, agree_on_classes(job, labelled));
  }
  const bool tested = job.data.test_fraction.value_or(0) > 0 ||
                      std::any_of(sources.begin(), sources.end(), [](const PartySource& each) { return each.test; });
  std::vector<PartyTable> tables;
  for (std::size_t p = 0; p < parties.size(); ++p) {
    jobs::Job own = job;
    if (!in_label_table(job, parties[p])) own.data.test_fraction.reset();
    const data::ColumnNames columns = as_they_are[p].columns;
    PARLEY_TRY(PartyTable table, read_alike(own, parties[p], sources[p], std::move(as_they_are[p]), columns, classes));
    if (tested && !in_label_table(job, parties[p]) && !table.test) table.test = table.train;
    for (const std::vector<std::string>& key : table_of(job, parties[p]).keys) {
      PARLEY_TRY(table.keys.emplace_back(), digests_of(table.train, key, sources[p]));
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

linalg::Matrix joined_features(const jobs::Job& job, const PartyTable& table) {
  const bool missing = holds_missing_tuple(job, table.number);
  const std::size_t added = added_columns(job, table.number);
  if (added == 0) return table.features;
  const Index rows = table.features.rows() + (missing ? 1 : 0);
  linalg::ColumnsBuilder columns(rows);
  std::vector<double> column(static_cast<std::size_t>(rows));
  for (Index j = 0; j < table.features.cols(); ++j) {
    std::fill(column.begin(), column.end(), 0.0);
    table.features.for_each_in_column(j,
                                      [&](Index row, double value) { column[static_cast<std::size_t>(row)] = value; });
    columns.append_dense(column);
  }
  std::fill(column.begin(), column.end(), 0.0);
  if (table_of(job, table.number).indicator) {
    if (missing) column.back() = 1;
    columns.append_dense(column);
  }
  std::fill(column.begin(), column.end(), 1.0);
  if (missing) column.back() = 0;
  if (has_constant(job, table.number)) columns.append_dense(column);
  return std::move(columns).build();
}

algorithms::TableShare Tables::share_of(const jobs::Job& job, const PartyTable& table) {
  algorithms::TableShare share{joined_features(job, table), {}, table.keys, table.terms.get(), table.number};
  if (table.noisy_labels)
    share.noisy_labels = table.noisy_labels;
  else
    share.labels = table.train.labels.values;
  share.peers = table.peers;
  return share;
}

Result<void> Tables::check(const jobs::Job& job) const {
  if (job.data.unit_rows)
    return fail(
        bad_input({job.file, 0, "data.unit_rows"},
                  "no party knows the norm of a whole row of the join; leave it out for tables that are joined"));
  return {};
}

Result<std::vector<PartyTable>> Tables::read(const jobs::Job& job, std::span<const int> parties,
                                             const Sources& sources) const {
  return read_tables(job, parties, sources);
}

Result<void> Tables::check_one(const jobs::Job& job, int party, const jobs::Introduction& said) const {
  PARLEY_CHECK(jobs::check_facts(job, party, said));
  if (said.labels != in_label_table(job, party))
    return fail(
        failed(said.labels ? "it says that it holds the labels, which are another table's" : "it holds no labels"));
  if (!said.labels)
    return said.classes.empty() ? Result<void>{} : fail(failed("it names classes, and the labels are another table's"));
  return jobs::check_classes(job, said);
}

Result<void> Tables::check(const jobs::Job& job, std::span<const jobs::Introduction> parties) const {
  for (const jobs::JobTable& table : job.tables.tables) {
    const jobs::Introduction& first = parties[static_cast<std::size_t>(table.parties.front())];
    for (const int party : table.parties) {
      const jobs::Introduction& other = parties[static_cast<std::size_t>(party)];
      if (!(other.column_names() == first.column_names()) || other.scales != first.scales ||
          other.classes != first.classes)
        return fail(bad_input({job.file, 0, "party." + other.party},
                              fmt::format("has other columns, bounds or classes than '{}', and both hold rows of '{}'; "
                                          "give them one schema",
                                          first.party, table.name)));
    }
  }
  return {};
}

Result<std::vector<models::Trained>> Tables::model(const jobs::Job& job, const Held& held) const {
  std::vector<models::Trained> parts;
  for (std::size_t p = 0; p < held.memories.size(); ++p) {
    PARLEY_TRY(const Part weights, part_in(held.memories[p]));
    PARLEY_TRY(parts.emplace_back(), part_of_table(job, held.parties[p], weights));
  }
  return parts;
}

Result<Federation::Scores> Tables::scores(std::span<const models::Trained> parts,
                                          std::span<const data::Dataset* const> tables) const {
  PARLEY_TRY(models::JoinedMargins found, models::margins_over_join(parts, tables));
  return Scores{std::move(found.margins), std::move(found.labels)};
}

// Every algorithm over tables knows the objective at the coordinator (FederationOf asks it first).
Result<double> Tables::objective(const jobs::Job&, const Running&) const {
  return fail(failed("the objective over a join is the coordinator's to know"));
}

}  // namespace parley::catalog
