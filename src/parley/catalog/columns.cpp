#include "parley/catalog/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "parley/algorithms/vertical/block_solver.h"
#include "parley/algorithms/vertical/label_release.h"
#include "parley/algorithms/vertical/shared_feature.h"
#include "parley/catalog/align_tables.h"
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
// runs in one process with the one that knows: its part of the model is the same bytes either way. Of softmax it numbers
// them, as many as its weights are of.
std::vector<std::string> classes_of(const jobs::Job& job, const jobs::Introduction& party, std::size_t classes) {
  if (glm::has_real_labels(job.objective.task)) return {};
  if (!party.classes.empty()) return party.classes;
  if (job.objective.task != glm::Task::kSoftmax) return {"-1", "+1"};
  std::vector<std::string> numbers;
  for (std::size_t k = 0; k < classes; ++k) numbers.push_back(fmt::format("{}", k));
  return numbers;
}

// Of every class its columns, then its intercept where there is one, to all weights and all intercepts.
void split_intercepts(std::vector<double> given, std::size_t classes, glm::Model& model) {
  const std::size_t columns = model.columns.size(), width = given.size() / classes;
  if (width == columns) {
    model.weights = std::move(given);
    return;
  }
  model.weights.clear();
  for (std::size_t k = 0; k < classes; ++k) {
    const auto begin = given.begin() + static_cast<std::ptrdiff_t>(k * width);
    model.weights.insert(model.weights.end(), begin, begin + static_cast<std::ptrdiff_t>(columns));
    model.intercepts.push_back(given[k * width + columns]);
  }
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
  if (!table.noisy_labels)
    return {table.features, table.train.labels.values, constant, table.terms.get(), {}, table.peers};
  return {table.features, {}, constant, table.terms.get(), table.noisy_labels, table.peers};
}

Result<void> Columns::check(const jobs::Job& job) const {
  if (job.secure.find) return fail(bad_input({job.file, 0, "secure.find"}, "is for parley align: this job trains"));
  if (job.data.unit_rows)
    return fail(bad_input({job.file, 0, "data.unit_rows"},
                          "no party knows the norm of a whole record; leave it out for parties that hold columns"));
  if (job.labels.noise) PARLEY_CHECK(algorithms::LabelRelease::check(job.objective.task, *job.labels.noise));
  return {};
}

Result<std::vector<PartyTable>> Columns::read(const jobs::Job& job, std::span<const int> parties,
                                              const Sources& sources) const {
  std::vector<data::Dataset> as_they_are;
  for (std::size_t p = 0; p < parties.size(); ++p) {
    const auto labels = holds_labels(job, parties[p]) ? data::LabelUse::kRequired : data::LabelUse::kNone;
    PARLEY_TRY(as_they_are.emplace_back(), read_raw(job, parties[p], sources[p], labels));
  }
  PARLEY_TRY(const std::vector<std::int64_t> alignments, bring_in_order(job, parties, sources, as_they_are));
  std::vector<PartyTable> tables;
  for (std::size_t p = 0; p < parties.size(); ++p) {
    const int party = parties[p];
    const bool labels = holds_labels(job, party);
    data::Dataset table = std::move(as_they_are[p]);
    AgreedClasses classes;
    if (labels) {
      PARLEY_TRY(classes, agree_on_classes(job, {&table, 1}));
    }
    const data::ColumnNames columns = table.columns;
    if (columns.empty()) return fail(bad_input({sources[p].train.name(), 0, ""}, "holds no feature column"));
    PARLEY_TRY(tables.emplace_back(), read_alike(job, party, sources[p], std::move(table), columns, classes));
    tables.back().aligned = true;
    tables.back().alignment = alignments[p];
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
    PARLEY_TRY(Part part, part_in(held.memories[p]));
    const std::size_t width_there = static_cast<std::size_t>(party.column_count) + (party.labels && constant ? 1 : 0);
    const std::vector<std::string> classes =
        classes_of(job, party, part.weights.size() / std::max<std::size_t>(1, width_there));
    const glm::Objective objective = objective_of(job, classes);
    PARLEY_TRY(models::Trained trained, models::blank_model(job, objective, party));
    if (!party.labels) trained.label.clear();
    if (!held.parameters.empty()) {
      const std::size_t width = std::min(untold.size(), width_there);
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
    glm::Model& model = trained.model;
    model.classes = classes;
    if (!part.weights.empty())
      split_intercepts(std::move(part.weights), static_cast<std::size_t>(std::max(1, objective.classes)), model);
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
    if (parts[p].part->labels) all.labels = tables[p]->labels.truth();
  }
  return all;
}

Result<double> Columns::objective(const jobs::Job& job, const Running& running) const {
  const glm::Penalty penalty = glm::penalty_of(job.objective);
  std::vector<double> margins;
  double penalties = 0;
  const std::vector<double>* labels = nullptr;
  int classes = 1;
  std::span<const double> held = running.parameters;
  for (std::size_t p = 0; p < running.tables.size(); ++p) {
    const algorithms::ColumnShare share = share_of(job, *running.tables[p]);
    if (share.holds_labels()) {
      labels = &running.tables[p]->train.labels.values;
      classes = objective_of(job, running.tables[p]->train.labels.classes).classes;
    }
    Part part;
    if (running.parameters.empty()) {
      PARLEY_TRY(part, part_at(*running.parties[p]));
    } else {
      const std::size_t width = std::min(algorithms::columns_of(share), held.size());
      part.weights.assign(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(width));
      held = held.subspan(width);
    }
    if (part.weights.empty()) continue;
    const std::vector<double> own = algorithms::class_margins_of(share, part.weights);
    margins.resize(std::max(margins.size(), own.size()), 0.0);
    linalg::axpy(1.0, own, margins);
    penalties += penalty.value(part.weights);
  }
  if (labels == nullptr) return fail(failed("no party holds labels"));
  if (margins.empty()) margins.assign(labels->size() * static_cast<std::size_t>(std::max(1, classes)), 0.0);
  if (!held.empty())
    for (double& margin : margins) margin += held.front();
  return glm::mean_loss(job.objective.task, margins, *labels) + penalties;
}

}  // namespace parley::catalog
