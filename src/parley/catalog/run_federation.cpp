#include "parley/catalog/run_federation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "parley/catalog/coordinate.h"
#include "parley/catalog/privacy_across.h"
#include "parley/catalog/private_site.h"
#include "parley/catalog/stopwatch.h"
#include "parley/rounds/local_parties.h"

namespace parley::catalog {

namespace {

Result<Scored> score(const Federation& federation, std::span<const Trained> parts, std::span<const data::Dataset* const> tables) {
  PARLEY_TRY(const Federation::Scores scores, federation.scores(parts, tables));
  return Scored{scores.labels.size(), glm::measure(parts.front().model.task, scores.margins, scores.labels)};
}

Result<void> measure(const Federation& federation, std::span<const PartyTable> tables, Outcome& outcome) {
  std::vector<const data::Dataset*> train, test;
  for (const PartyTable& table : tables) {
    train.push_back(&table.train);
    if (table.test) test.push_back(&*table.test);
  }
  PARLEY_TRY(outcome.train, score(federation, outcome.parts, train));
  if (test.size() == tables.size()) {
    PARLEY_TRY(outcome.test, score(federation, outcome.parts, test));
  }
  return {};
}

}  // namespace

Result<Outcome> run_federation(const Job& job, const Watch& watch) {
  PARLEY_CHECK(check_federated(job));
  const Federation& federation = *job.federation;
  Outcome outcome;
  if (watch.phase)
    watch.phase(job.parties.size() == 1 ? "reading the table of 1 party"
                                        : fmt::format("reading the tables of {} parties", job.parties.size()));
  const Stopwatch reading;
  std::vector<int> everyone(job.parties.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  PARLEY_TRY(std::vector<PartyTable> tables, federation.read(job, everyone));
  if (watch.stop && watch.stop()) return fail(stopped_early());
  std::vector<rounds::Admission> admitted;
  std::vector<std::unique_ptr<rounds::Responder>> parties;
  std::vector<Introduction> introductions;
  rounds::Terms terms{.job = job.name + " " + job.digest, .rules = {.largest_value = job.rules.largest_value}};
  // Everything is looked at before a budget is set at any party.
  std::vector<Introduction> before;
  for (const PartyTable& table : tables) before.push_back(introduce(table));
  PARLEY_CHECK(federation.check(job, before));
  for (PartyTable& table : tables) {
    if (!job.privacy) break;
    PARLEY_CHECK(open_site(job, objective_of(job, tables.front().train.labels.classes), table, {}));
    PARLEY_CHECK(table.site->rehearse([&](privacy::Gate& gate) { return federation.reserve(job, table, gate); }));
  }
  for (PartyTable& table : tables) {
    PARLEY_TRY(admitted.emplace_back(), admit(job, table));
    parties.push_back(std::move(admitted.back().party));
    admitted.back().party = std::make_unique<rounds::BorrowedParty>(*parties.back());
    introductions.push_back(introduce(table));
    terms.parties.push_back(table.party);
    for (const std::string& note : table.train.notes) outcome.notes.push_back(table.party + ": " + note);
  }
  outcome.read_seconds = reading.seconds();

  if (watch.phase) watch.phase("training");
  const Stopwatch training;
  rounds::LocalParties local(std::move(admitted));
  std::vector<wire::Bytes> memories(parties.size());
  const auto held = [&](std::span<const double> parameters) {
    for (std::size_t p = 0; p < parties.size(); ++p) memories[p] = parties[p]->memory();
    return Federation::Held{introductions, parameters, memories};
  };
  algorithms::Fit& fit = outcome.fit;
  fit.gap = std::numeric_limits<double>::quiet_NaN();
  std::optional<Error> broken;
  const auto after = [&](std::int64_t round, std::span<const double> parameters) {
    const auto objective = federation.objective(job, tables, held(parameters));
    if (!objective) return broken = objective.error(), false;
    fit.history.push_back(*objective);
    return !watch.observer || watch.observer({static_cast<int>(round), *objective, fit.gap, 0});
  };
  PARLEY_TRY(rounds::Exchange exchange, rounds::Exchange::make(local.channel(), std::move(terms)));
  PARLEY_TRY(const Coordinated run, coordinate(job, exchange, after));
  if (broken) return fail(*broken);
  outcome.train_seconds = training.seconds();
  outcome.communication = run.communication;
  const Learnt& learnt = run.learnt;
  fit.stop = learnt.stop;
  fit.iterations = static_cast<int>(learnt.rounds);
  fit.objective = fit.history.empty() ? std::numeric_limits<double>::quiet_NaN() : fit.history.back();

  PARLEY_TRY(outcome.parts, federation.model(job, held(learnt.parameters)));
  if (job.privacy) {
    std::vector<PrivacyReport> reports;
    for (const PartyTable& table : tables) {
      PARLEY_TRY(PrivacyReport report, table.site->report());
      reports.push_back(std::move(report));
    }
    PARLEY_TRY(outcome.privacy, privacy_across(federation, reports, tables.front().site->terms().target.delta));
    outcome.notes.insert(outcome.notes.end(), outcome.privacy->notes.begin(), outcome.privacy->notes.end());
    // A part of a model is its party's own, and says what its party can say.
    for (std::size_t p = 0; p < outcome.parts.size(); ++p)
      stamp(outcome.parts[p].part ? reports[p] : *outcome.privacy, outcome.parts[p].provenance);
  }
  outcome.trained = outcome.parts.front();
  if (outcome.privacy) stamp(*outcome.privacy, outcome.trained.provenance);
  PARLEY_CHECK(measure(federation, tables, outcome));
  return outcome;
}

}  // namespace parley::catalog
