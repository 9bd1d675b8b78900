#include "parley/catalog/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "parley/algorithms/vertical/label_release.h"
#include "parley/algorithms/vertical/ridge_factor.h"
#include "parley/algorithms/vertical/shared_feature.h"
#include "parley/catalog/classes.h"
#include "parley/core/text.h"
#include "parley/glm/batch.h"
#include "parley/linalg/vectors.h"
#include "parley/models/blank_model.h"
#include "parley/rounds/party.h"

namespace parley::catalog {

namespace {

using jobs::holds_labels;

// Whether the weights that a party ends with are released, and so covered.
bool releases_parts(const jobs::Job& job) {
  return jobs::protects_records(job) && !job.keep_parts;
}

// Classes are known where the labels are. A party that never learns their names calls them -1 and +1, also where it
// runs in one process with the one that knows: its part of the model is the same bytes either way.
std::vector<std::string> classes_of(const jobs::Job& job, const jobs::Introduction& party) {
  if (job.objective.task == glm::Task::kLinear) return {};
  return party.classes.empty() ? std::vector<std::string>{"-1", "+1"} : party.classes;
}

std::size_t columns_of(std::span<const jobs::Introduction> parties, bool constant) {
  std::size_t columns = constant ? 1 : 0;
  for (const jobs::Introduction& party : parties) columns += static_cast<std::size_t>(party.column_count);
  return columns;
}

// The constant that the coordinator holds after all parts goes to the party with the labels.
void add_constant(std::vector<double>& weights, std::span<const double> parameters, std::size_t columns,
                  bool penalised) {
  if (parameters.size() <= columns) return;
  if (penalised)
    weights.back() += parameters.back();
  else
    weights.push_back(parameters.back());
}

}  // namespace

algorithms::ColumnShare Columns::share_of(const jobs::Job& job, const PartyTable& table) {
  const bool constant = job.objective.intercept == glm::Intercept::kPenalised && !table.train.labels.values.empty();
  if (!table.noisy_labels) return {table.features, table.train.labels.values, constant, table.terms.get()};
  return {table.features, {}, constant, table.terms.get(), table.noisy_labels};
}

Result<void> Columns::check(const jobs::Job& job) const {
  if (job.data.unit_rows)
    return fail(bad_input({job.file, 0, "data.unit_rows"},
                          "no party knows the norm of a whole record; leave it out for parties that hold columns"));
  if (job.labels.noise) PARLEY_CHECK(algorithms::LabelRelease::check(job.objective.task, *job.labels.noise));
  return {};
}

Result<std::vector<PartyTable>> Columns::read(const jobs::Job& job, std::span<const int> parties,
                                              const Sources& sources) const {
  std::vector<PartyTable> tables;
  for (std::size_t p = 0; p < parties.size(); ++p) {
    const int party = parties[p];
    const bool labels = holds_labels(job, party);
    PARLEY_TRY(data::Dataset table,
               read_raw(job, party, sources[p], labels ? data::LabelUse::kRequired : data::LabelUse::kNone));
    AgreedClasses classes;
    if (labels) {
      PARLEY_TRY(classes, agree_on_classes(job, {&table, 1}));
    }
    const data::ColumnNames columns = table.columns;
    if (columns.empty()) return fail(bad_input({sources[p].train.name(), 0, ""}, "holds no feature column"));
    PARLEY_TRY(tables.emplace_back(), read_alike(job, party, sources[p], std::move(table), columns, classes));
    tables.back().aligned = true;
    if (labels) PARLEY_CHECK(check_two_classes(job, sources[p].train.name(), tables.back().train));
  }
  return tables;
}

Result<void> Columns::check_one(const jobs::Job& job, int party, const jobs::Introduction& said) const {
  PARLEY_CHECK(jobs::check_facts(job, party, said));
  if (said.labels != holds_labels(job, party))
    return fail(
        failed(said.labels ? "it says that it holds the labels, which are another party's" : "it holds no labels"));
  if (!said.labels)
    return said.classes.empty() ? Result<void>{} : fail(failed("it names classes, and the labels are another party's"));
  return jobs::check_classes(job, said);
}

Result<void> Columns::check(const jobs::Job& job, std::span<const jobs::Introduction> parties) const {
  const jobs::Introduction& first = parties.front();
  std::size_t holders = 0;
  for (const jobs::Introduction& other : parties) {
    holders += other.labels ? 1 : 0;
    const Place place{job.file, 0, "party." + other.party};
    if (other.rows != first.rows)
      return fail(bad_input(
          place, fmt::format("has {}, '{}' has {}; parties that hold columns need the same records in the same order",
                             counted(other.rows, "record"), first.party, first.rows)));
    if (other.alignment != 0 && first.alignment != 0 && other.alignment != first.alignment)
      return fail(bad_input(place, fmt::format("its record ids are not those of '{}' in the same order", first.party)));
  }
  // A column that two parties have would count twice, and its weight would be split between them by chance. Columns of
  // LIBSVM tables have numbers, each party its own.
  std::map<std::string_view, std::string_view> owner;
  for (const jobs::Introduction& party : parties)
    for (const std::string& column : party.columns)
      if (const auto [other, is_new] = owner.emplace(column, party.party); !is_new)
        return fail(bad_input({job.file, 0, "party." + party.party},
                              fmt::format("has a column that '{}' has too; give it type = \"ignore\" in one of the "
                                          "schemas, or another name",
                                          other->second),
                              column));
  if (holders != 1)
    return fail(
        bad_input({job.file, 0, "labels.party"}, "exactly one party must hold the labels", fmt::format("{}", holders)));
  return {};
}

Result<std::vector<models::Trained>> Columns::model(const jobs::Job& job, const Held& held) const {
  std::vector<models::Trained> parts;
  // Of a run that was stopped before its parties were told their parts: what the coordinator has of them.
  std::span<const double> untold = held.parameters;
  const bool constant = job.objective.intercept == glm::Intercept::kPenalised;
  for (std::size_t p = 0; p < held.memories.size(); ++p) {
    const jobs::Introduction& party = held.parties[p];
    const std::vector<std::string> classes = classes_of(job, party);
    PARLEY_TRY(models::Trained trained, models::blank_model(job, objective_of(job, classes), party));
    if (!party.labels) trained.label.clear();
    PARLEY_TRY(Part part, part_in(held.memories[p]));
    if (!held.parameters.empty()) {
      const std::size_t width =
          std::min(untold.size(), static_cast<std::size_t>(party.column_count) + (party.labels && constant ? 1 : 0));
      if (part.weights.empty()) {
        part = {{untold.begin(), untold.begin() + static_cast<std::ptrdiff_t>(width)}, true};
        if (party.labels) add_constant(part.weights, held.parameters, columns_of(held.parties, constant), constant);
      }
      untold = untold.subspan(width);
    }
    if (releases_parts(job) && !part.released)
      return fail(failed(
          "the run ended before this part was released: what there is of it is not covered by a claim, and is not "
          "written; what was charged stays charged"));
    std::vector<double> weights = std::move(part.weights);
    glm::Model& model = trained.model;
    model.classes = classes;
    if (weights.size() > model.columns.size()) {
      model.intercepts = {weights.back()};
      weights.pop_back();
    }
    if (!weights.empty()) model.weights = std::move(weights);
    trained.part = models::PartOf{party.party, party.labels, {}};
    for (const jobs::PartySection& each : job.parties) trained.part->parties.push_back(each.name);
    trained.provenance.run = job.run;
    parts.push_back(std::move(trained));
  }
  return parts;
}

Result<Federation::Scores> Columns::scores(std::span<const models::Trained> parts,
                                           std::span<const data::Dataset* const> tables) const {
  Scores all;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    PARLEY_TRY(const std::vector<double> margins, parts[p].model.margins(tables[p]->features));
    if (all.margins.empty()) all.margins.assign(margins.size(), 0.0);
    linalg::axpy(1.0, margins, all.margins);
    if (parts[p].part->labels) all.labels = tables[p]->labels.values;
  }
  return all;
}

Result<double> Columns::objective(const jobs::Job& job, const Running& running) const {
  const glm::Objective objective = objective_of(job, {});
  std::vector<double> margins(running.tables.front()->train.rows(), 0.0);
  double penalty = 0;
  const std::vector<double>* labels = nullptr;
  std::span<const double> held = running.parameters;
  for (std::size_t p = 0; p < running.tables.size(); ++p) {
    const algorithms::ColumnShare share = share_of(job, *running.tables[p]);
    if (share.holds_labels()) labels = &running.tables[p]->train.labels.values;
    Part part;
    if (running.parameters.empty()) {
      PARLEY_TRY(part, part_at(*running.parties[p]));
    } else {
      const std::size_t width = std::min(algorithms::columns_of(share), held.size());
      part.weights.assign(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(width));
      held = held.subspan(width);
    }
    if (part.weights.empty()) continue;
    linalg::axpy(1.0, algorithms::margins_of(share, part.weights), margins);
    penalty += objective.l2 / 2 * linalg::squared_norm(part.weights);
  }
  if (labels == nullptr) return fail(failed("no party holds labels"));
  if (!held.empty())
    for (double& margin : margins) margin += held.front();
  return glm::mean_loss(objective.task, margins, *labels) + penalty;
}

}  // namespace parley::catalog
