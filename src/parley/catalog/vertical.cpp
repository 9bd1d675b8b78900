#include "parley/catalog/vertical.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "parley/algorithms/ridge_factor.h"
#include "parley/catalog/private_site.h"
#include "parley/core/text.h"
#include "parley/glm/batch.h"
#include "parley/linalg/vectors.h"
#include "parley/rounds/party.h"

namespace parley::catalog {

namespace {

bool holds_labels(const Job& job, int party) {
  return job.labels.party.empty() ? party == 0 : job.parties[static_cast<std::size_t>(party)].name == job.labels.party;
}

algorithms::ColumnShare share_of(const Job& job, const PartyTable& table) {
  const bool constant = job.objective.intercept == glm::Intercept::kPenalised && !table.train.labels.values.empty();
  return {table.features, table.train.labels.values, constant, table.site ? &table.site->terms() : nullptr};
}

// Whether the weights that a party ends with are released, and so covered.
bool releases_parts(const Job& job) {
  return job.privacy && !job.keep_parts;
}

// Rounds in which every party answers, from what each said that it will charge: its part, then as many values as its budget holds.
Result<std::int64_t> rounds_paid_by_all(std::span<const Introduction> parties) {
  std::int64_t rounds = std::numeric_limits<std::int64_t>::max();
  for (const Introduction& said : parties) {
    PARLEY_TRY(const privacy::Plan plan, privacy::parse_plan(said.plan, said.party + " (plan)"));
    rounds = std::min(rounds, plan.events.size() == 2 ? plan.events.back().count : 0);
  }
  if (rounds < 1) return fail(failed("a party does not say what a run that releases its part would charge it"));
  return rounds;
}

// Classes are known where the labels are. A party that never learns their names calls them -1 and +1, also where it runs in one
// process with the one that knows: its part of the model is the same bytes either way.
std::vector<std::string> classes_of(const Job& job, const Introduction& party) {
  if (job.objective.task == glm::Task::kLinear) return {};
  return party.classes.empty() ? std::vector<std::string>{"-1", "+1"} : party.classes;
}

}  // namespace

Result<void> VerticalFederation::check(const Job& job) const {
  if (job.data.unit_rows)
    return fail(bad_input({job.file, 0, "data.unit_rows"},
                          "no party knows the norm of a whole record; leave it out for parties that hold columns"));
  return {};
}

Result<std::vector<PartyTable>> VerticalFederation::read(const Job& job, std::span<const int> parties) const {
  std::vector<PartyTable> tables;
  for (const int party : parties) {
    const bool labels = holds_labels(job, party);
    PARLEY_TRY(data::Dataset table, read_as_it_is(job, job.parties[static_cast<std::size_t>(party)],
                                                  labels ? data::LabelUse::kRequired : data::LabelUse::kNone));
    AgreedClasses classes;
    if (labels) {
      PARLEY_TRY(classes, agree_on_classes(job, {&table, 1}));
    }
    const data::ColumnNames columns = table.columns;
    if (columns.empty()) return fail(bad_input({job.parties[static_cast<std::size_t>(party)].data, 0, ""}, "holds no feature column"));
    PARLEY_TRY(tables.emplace_back(), read_alike(job, party, std::move(table), columns, classes));
    tables.back().aligned = true;
  }
  return tables;
}

Result<void> VerticalFederation::check_one(const Job& job, int party, const Introduction& said) const {
  PARLEY_CHECK(check_facts(job, party, said));
  if (said.labels != holds_labels(job, party))
    return fail(failed(said.labels ? "it says that it holds the labels, which are another party's" : "it holds no labels"));
  if (!said.labels) return said.classes.empty() ? Result<void>{} : fail(failed("it names classes, and the labels are another party's"));
  return check_classes(job, said);
}

Result<void> VerticalFederation::check(const Job& job, std::span<const Introduction> parties) const {
  const Introduction& first = parties.front();
  std::size_t holders = 0;
  for (const Introduction& other : parties) {
    holders += other.labels ? 1 : 0;
    const Place place{job.file, 0, "party." + other.party};
    if (other.rows != first.rows)
      return fail(bad_input(place, fmt::format("has {}, '{}' has {}; parties that hold columns need the same records in the same order",
                                               counted(other.rows, "record"), first.party, first.rows)));
    if (other.alignment != 0 && first.alignment != 0 && other.alignment != first.alignment)
      return fail(bad_input(place, fmt::format("its record ids are not those of '{}' in the same order", first.party)));
  }
  if (holders != 1)
    return fail(bad_input({job.file, 0, "labels.party"}, "exactly one party must hold the labels", fmt::format("{}", holders)));
  return {};
}

// One value per record.
std::size_t VerticalFederation::largest_reply(const Job&, std::span<const Introduction> parties) const {
  return sizeof(double) * static_cast<std::size_t>(parties.front().rows);
}

Result<std::vector<Trained>> VerticalFederation::model(const Job& job, const Held& held) const {
  std::vector<Trained> parts;
  for (std::size_t p = 0; p < held.memories.size(); ++p) {
    const Introduction& party = held.parties[p];
    const std::vector<std::string> classes = classes_of(job, party);
    PARLEY_TRY(Trained trained, blank_model(job, objective_of(job, classes), party));
    if (!party.labels) trained.label.clear();
    PARLEY_TRY(std::vector<double> weights, part_in(job, held.memories[p]));
    glm::Model& model = trained.model;
    model.classes = classes;
    if (weights.size() > model.columns.size()) {
      model.intercepts = {weights.back()};
      weights.pop_back();
    }
    if (!weights.empty()) model.weights = std::move(weights);
    trained.part = PartOf{party.party, party.labels, {}};
    for (const Party& each : job.parties) trained.part->parties.push_back(each.name);
    trained.provenance.run = job.run;
    parts.push_back(std::move(trained));
  }
  return parts;
}

Result<Federation::Scores> VerticalFederation::scores(std::span<const Trained> parts, std::span<const data::Dataset* const> tables) const {
  Scores all;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    PARLEY_TRY(const std::vector<double> margins, parts[p].model.margins(tables[p]->features));
    if (all.margins.empty()) all.margins.assign(margins.size(), 0.0);
    linalg::axpy(1.0, margins, all.margins);
    if (parts[p].part->labels) all.labels = tables[p]->labels.values;
  }
  return all;
}

Result<double> VerticalFederation::objective(const Job& job, std::span<const PartyTable> tables, const Held& held) const {
  const glm::Objective objective = objective_of(job, {});
  std::vector<double> margins(tables.front().train.rows(), 0.0);
  double penalty = 0;
  const std::vector<double>* labels = nullptr;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const algorithms::ColumnShare share = share_of(job, tables[p]);
    if (!share.labels.empty()) labels = &tables[p].train.labels.values;
    PARLEY_TRY(const std::vector<double> weights, weights_in(held.memories[p]));
    if (weights.empty()) continue;
    linalg::axpy(1.0, algorithms::margins_of(share, weights), margins);
    penalty += objective.l2 / 2 * linalg::squared_norm(weights);
  }
  return glm::mean_loss(objective.task, margins, *labels) + penalty;
}

Result<void> AdmmFederation::check(const Job& job) const {
  PARLEY_CHECK(VerticalFederation::check(job));
  PARLEY_TRY(const auto algorithm, make(job));
  return job.privacy ? algorithm.check_private(job.privacy->neighbours) : Result<void>{};
}

Result<std::unique_ptr<rounds::Responder>> AdmmFederation::responder(const Job& job, const PartyTable& table,
                                                                     rounds::GateOfRound gate) const {
  PARLEY_TRY(auto algorithm, make(job));
  return std::make_unique<rounds::Party<algorithms::AdmmSharing>>(std::move(algorithm), share_of(job, table), std::move(gate));
}

Result<void> AdmmFederation::reserve(const Job& job, const PartyTable& table, privacy::Gate& gate) const {
  PARLEY_TRY(const auto algorithm, make(job));
  algorithms::AdmmSharing::Memory memory;
  return algorithm.reserve(share_of(job, table), memory, gate);
}

algorithms::AdmmSettings AdmmFederation::settings_of(const Job& job) const {
  algorithms::AdmmSettings settings = settings_;
  settings.release_parts = releases_parts(job);
  settings.public_labels = job.labels.declared_public;
  return settings;
}

std::int64_t AdmmFederation::rounds(const Job& job) const {
  return algorithms::AdmmSharing::most_rounds(settings_of(job));
}

Result<algorithms::AdmmSharing> AdmmFederation::make(const Job& job, int rounds) const {
  algorithms::AdmmSettings settings = settings_of(job);
  settings.rounds = rounds;
  return algorithms::AdmmSharing::make(objective_of(job, {}), settings, static_cast<int>(job.parties.size()));
}

Result<Learnt> AdmmFederation::coordinate(const Job& job, std::span<const Introduction> parties, rounds::Exchange& exchange,
                                          const AfterRound& after) const {
  using algorithms::AdmmSharing;
  // A budget that ends in the middle would leave no round in which parts are released: the run is as long as every party can pay for.
  std::int64_t rounds = settings_.rounds;
  if (releases_parts(job)) {
    PARLEY_TRY(const std::int64_t paid, rounds_paid_by_all(parties));
    rounds = std::min(rounds, paid);
  }
  PARLEY_TRY(AdmmSharing algorithm, make(job, static_cast<int>(rounds)));
  // Every party is there: none can be missed (job.cpp).
  AdmmSharing::Expected expected{.records = static_cast<std::size_t>(parties.front().rows), .noise = job.privacy.has_value()};
  for (std::size_t p = 0; p < parties.size(); ++p) {
    const bool constant = parties[p].labels && job.objective.intercept == glm::Intercept::kPenalised;
    if (parties[p].labels) expected.label_holder = static_cast<int>(p);
    expected.row_norms.push_back(std::hypot(parties[p].row_norm, constant ? 1.0 : 0.0));
  }
  algorithm.expect(std::move(expected));
  PARLEY_TRY(const auto outcome,
             rounds::drive(algorithm, algorithm.start(), exchange,
                           [&](std::int64_t round, const AdmmSharing::Iterate&) { return !after || after(round, {}); }));
  Learnt learnt{stop_of(outcome.ended, algorithm.converged(outcome.iterate)), outcome.rounds, {}};
  if (rounds < settings_.rounds && learnt.stop == algorithms::Stop::kIterations) learnt.stop = algorithms::Stop::kBudgetEnded;
  return learnt;
}

Result<std::vector<double>> AdmmFederation::weights_in(const wire::Bytes& memory) const {
  PARLEY_TRY(auto read, wire::decode<algorithms::AdmmSharing::Memory>(memory, wire::Numbers::kAny));
  return std::move(read.weights);
}

Result<std::vector<double>> AdmmFederation::part_in(const Job& job, const wire::Bytes& memory) const {
  PARLEY_TRY(auto read, wire::decode<algorithms::AdmmSharing::Memory>(memory, wire::Numbers::kAny));
  if (releases_parts(job) && !read.released)
    return fail(
        failed("the run ended before this part was released: what there is of it is not covered by a claim, and is not written; what was "
               "charged stays charged"));
  return std::move(read.weights);
}

}  // namespace parley::catalog
