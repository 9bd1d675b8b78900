#include "parley/catalog/rows.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <unordered_set>

#include "parley/algorithms/horizontal/local_steps.h"
#include "parley/catalog/classes.h"
#include "parley/glm/batch.h"
#include "parley/models/blank_model.h"

namespace parley::catalog {

namespace {

namespace fs = std::filesystem;

// Both are regular files of one size, and of the same bytes.
bool same_bytes(const std::string& one, const std::string& other) {
  std::error_code error;
  const auto is_file = [&](const std::string& path) { return fs::is_regular_file(path, error); };
  if (!is_file(one) || !is_file(other) || fs::file_size(one, error) != fs::file_size(other, error) || error)
    return false;
  std::ifstream a(one, std::ios::binary), b(other, std::ios::binary);
  std::vector<char> from_a(std::size_t{1} << 16), from_b(from_a.size());
  while (a && b) {
    a.read(from_a.data(), static_cast<std::streamsize>(from_a.size()));
    b.read(from_b.data(), static_cast<std::streamsize>(from_b.size()));
    if (a.gcount() != b.gcount() || !std::equal(from_a.begin(), from_a.begin() + a.gcount(), from_b.begin()))
      return false;
  }
  return a.eof() && b.eof();
}

// Ids that two of the tables have. Equal rows without ids are no reason to think of one person.
Result<void> check_ids_differ(const jobs::Job& job, std::span<const int> parties,
                              const std::vector<data::Dataset>& tables) {
  std::unordered_set<std::string_view> before;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    for (const std::string& id : tables[p].ids)
      if (before.contains(id))
        return fail(bad_input(
            {job.file, 0, "party." + job.parties[static_cast<std::size_t>(parties[p])].name},
            "has a record id that an earlier party has too: one record would count at both; ids that mean nothing "
            "beyond a table are a column of type = \"ignore\""));
    before.insert(tables[p].ids.begin(), tables[p].ids.end());
  }
  return {};
}

}  // namespace

Result<void> check_files_differ(const jobs::Job& job, const Sources& sources) {
  for (std::size_t p = 0; p < sources.size(); ++p)
    for (std::size_t q = 0; q < p; ++q) {
      const std::string &one = sources[q].train.name(), &other = sources[p].train.name();
      const bool files = sources[p].train.is_file() && sources[q].train.is_file();
      if (!files && !(data::is_database(one) && data::is_database(other))) continue;
      std::error_code unknown;
      const bool same_file = one == other || (files && fs::equivalent(one, other, unknown));
      if (same_file || (files && same_bytes(one, other)))
        return fail(bad_input({job.file, 0, "party." + job.parties[p].name + ".data"},
                              fmt::format("is the table of '{}' {}: what a person gives would count at both",
                                          job.parties[q].name, same_file ? "itself" : "byte for byte"),
                              other));
    }
  return {};
}

algorithms::RowShare Rows::share_of(const jobs::Job& job, const PartyTable& table) {
  return {table.number, table.features, table.train.labels.values, table.terms.get(), weights_of(job, table.train),
          table.peers};
}

Result<void> Rows::check(const jobs::Job& job) const {
  if (job.data.scale == jobs::Scale::kStandardize)
    return fail(bad_input({job.file, 0, "data.scale"},
                          "means and deviations of all rows are not known to any party; use bounds or none",
                          "standardize"));
  return {};
}

Result<std::vector<PartyTable>> Rows::read(const jobs::Job& job, std::span<const int> parties,
                                           const Sources& sources) const {
  std::vector<data::Dataset> as_they_are;
  if (parties.size() > 1) PARLEY_CHECK(check_files_differ(job, sources));
  for (std::size_t p = 0; p < parties.size(); ++p) {
    PARLEY_TRY(data::Dataset table, read_raw(job, parties[p], sources[p], data::LabelUse::kRequired));
    as_they_are.push_back(std::move(table));
  }
  PARLEY_CHECK(check_ids_differ(job, parties, as_they_are));
  PARLEY_TRY(const AgreedClasses classes, agree_on_classes(job, as_they_are));
  PARLEY_TRY(const data::ColumnNames columns, agree_on_columns(job, as_they_are));
  std::vector<PartyTable> tables;
  for (std::size_t p = 0; p < parties.size(); ++p) {
    PARLEY_TRY(PartyTable table, read_alike(job, parties[p], sources[p], std::move(as_they_are[p]), columns, classes));
    tables.push_back(std::move(table));
  }
  return tables;
}

Result<void> Rows::check_one(const jobs::Job& job, int party, const jobs::Introduction& said) const {
  PARLEY_CHECK(jobs::check_facts(job, party, said));
  PARLEY_CHECK(jobs::check_model_size(job, said));
  if (!said.labels) return fail(failed("it holds no labels"));
  // One table at two parties is seen by it where nothing is claimed; of private records it would confirm a guess.
  if (job.privacy && said.alignment != 0) return fail(failed("its records are private, and it gives a digest of them"));
  return jobs::check_classes(job, said);
}

Result<void> Rows::check(const jobs::Job& job, std::span<const jobs::Introduction> parties) const {
  const jobs::Introduction& first = parties.front();
  for (const jobs::Introduction& other : parties.subspan(1)) {
    const auto differ = [&](const char* what, const char* remedy) -> Result<void> {
      return fail(bad_input({job.file, 0, "party." + other.party},
                            fmt::format("has other {} than '{}'; {}", what, first.party, remedy)));
    };
    if (!(other.column_names() == first.column_names()))
      return differ("columns", "give the parties one schema, or data.features for LIBSVM files");
    if (other.scales != first.scales) return differ("public bounds", "give the parties one schema");
    if (other.classes != first.classes)
      return differ("classes", "list them all in labels.classes, and in one order in the schemas");
  }
  for (std::size_t p = 0; p < parties.size(); ++p)
    for (std::size_t q = 0; q < p; ++q)
      if (parties[p].alignment != 0 && parties[p].alignment == parties[q].alignment)
        return fail(bad_input(
            {job.file, 0, "party." + parties[p].party},
            fmt::format("has the same table as '{}': what a person gives would count at both", parties[q].party)));
  return {};
}

namespace {

// What must be the same at all parties.
struct Common {
  int first_number = 0;
  int column_count = 0;
  std::vector<std::string> columns;
  std::vector<double> scales;
  std::vector<std::string> classes;
  static void fields(auto& self, auto&& visit) {
    visit(self.first_number, self.column_count, self.columns, self.scales, self.classes);
  }
};

}  // namespace

std::vector<std::size_t> Rows::outvoted(std::span<const jobs::Introduction> parties) const {
  std::map<wire::Bytes, std::vector<std::size_t>> alike;
  for (std::size_t p = 0; p < parties.size(); ++p) {
    const jobs::Introduction& said = parties[p];
    alike[wire::encode(Common{said.first_number, said.column_count, said.columns, said.scales, said.classes})]
        .push_back(p);
  }
  const auto most = std::max_element(alike.begin(), alike.end(), [](const auto& one, const auto& other) {
    return one.second.size() < other.second.size();
  });
  std::vector<std::size_t> others;
  if (2 * most->second.size() <= parties.size()) return others;  // nobody knows who is right
  for (auto group = alike.begin(); group != alike.end(); ++group)
    if (group != most) others.insert(others.end(), group->second.begin(), group->second.end());
  std::sort(others.begin(), others.end());
  return others;
}

Result<std::vector<models::Trained>> Rows::model(const jobs::Job& job, const Held& held) const {
  if (held.parameters.empty()) return std::vector<models::Trained>{};
  const jobs::Introduction& first = held.parties.front();
  PARLEY_TRY(models::Trained trained, models::blank_model(job, objective_of(job, first.classes), first));
  algorithms::WeightsAndIntercepts learnt = algorithms::separate(trained.objective, held.parameters);
  trained.model.weights = std::move(learnt.weights);
  trained.model.intercepts = std::move(learnt.intercepts);
  trained.provenance.rows = 0;
  for (const jobs::Introduction& party : held.parties) trained.provenance.rows += static_cast<std::size_t>(party.rows);
  std::vector<models::Trained> parts;
  parts.push_back(std::move(trained));
  return parts;
}

Result<Federation::Scores> Rows::scores(std::span<const models::Trained> parts,
                                        std::span<const data::Dataset* const> tables) const {
  const glm::Model& model = parts.front().model;
  const std::size_t outputs = model.outputs();
  Scores all;
  for (const data::Dataset* table : tables)
    all.labels.insert(all.labels.end(), table->labels.truth().begin(), table->labels.truth().end());
  all.margins.resize(outputs * all.labels.size());
  std::size_t at = 0;
  for (const data::Dataset* table : tables) {
    PARLEY_TRY(const std::vector<double> margins, model.margins(table->features));
    for (std::size_t k = 0; k < outputs; ++k)
      std::copy_n(margins.begin() + static_cast<std::ptrdiff_t>(k * table->rows()), table->rows(),
                  all.margins.begin() + static_cast<std::ptrdiff_t>(k * all.labels.size() + at));
    at += table->rows();
  }
  return all;
}

// sum_i p_i f_i, p_i = n_i / n: the objective on the pooled rows.
Result<double> Rows::objective(const jobs::Job& job, const Running& running) const {
  const glm::Objective objective = objective_of(job, running.tables.front()->train.labels.classes);
  const auto [weights, intercepts] = algorithms::separate(objective, running.parameters);
  double loss = 0, records = 0;
  std::vector<double> margins;
  for (const PartyTable* table : running.tables) {
    const auto& labels = table->train.labels.values;
    margins.resize(labels.size() * static_cast<std::size_t>(objective.classes));
    glm::compute_margins(table->features, weights, intercepts, margins);
    loss += static_cast<double>(labels.size()) * glm::mean_loss(objective.task, margins, labels);
    records += static_cast<double>(labels.size());
  }
  return loss / records + glm::penalty_value(objective, weights, intercepts);
}

}  // namespace parley::catalog
