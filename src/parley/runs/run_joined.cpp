#include "parley/runs/run_joined.h"

#include <numeric>

#include "parley/catalog/federation.h"
#include "parley/catalog/join_of_tables.h"
#include "parley/catalog/method.h"
#include "parley/catalog/tables.h"
#include "parley/glm/metrics.h"
#include "parley/models/joined_margins.h"
#include "parley/runs/member.h"
#include "parley/runs/private_join.h"
#include "parley/runs/stopwatch.h"

namespace parley::runs {

namespace {

Result<models::Scored> score(const Outcome& outcome, const std::vector<const data::Dataset*>& tables) {
  PARLEY_TRY(const models::JoinedMargins found, models::margins_over_join(outcome.parts, tables));
  return models::Scored{found.labels.size(),
                        glm::measure(outcome.parts.front().model.task, found.margins, found.labels)};
}

}  // namespace

Result<Outcome> run_joined(const jobs::Job& job, const catalog::Sources& sources, const Watch& watch) {
  if (watch.phase) watch.phase(Reading{{}, static_cast<int>(job.parties.size())});
  const Stopwatch reading;
  std::vector<int> everyone(job.parties.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  PARLEY_TRY(std::vector<catalog::PartyTable> tables, catalog::read_tables(job, everyone, sources));
  Outcome outcome;
  std::vector<Member> members;
  std::vector<jobs::Introduction> introductions;
  for (catalog::PartyTable& table : tables) {
    for (const std::string& note : table.train.notes) outcome.notes.push_back(table.party + ": " + note);
    members.push_back({std::move(table)});
    introductions.push_back(introduce(members.back()));
  }
  std::vector<const catalog::PartyTable*> own;
  for (const Member& member : members) own.push_back(&member.table);
  PARLEY_TRY(const catalog::JoinOfTables joined, catalog::JoinOfTables::make(job, own));
  outcome.read_seconds = reading.seconds();
  if (watch.stop && watch.stop()) return fail(stopped_early());

  if (watch.phase) watch.phase(Training{});
  const Stopwatch training;
  const glm::Objective objective = catalog::objective_of(job, catalog::classes_of(introductions));
  algorithms::JoinedProblem problem = joined.problem(objective);
  std::optional<PrivateJoin> kept;
  if (job.privacy) {
    PARLEY_TRY(kept, PrivateJoin::open(job, own, joined, objective));
    problem.privacy = &kept->terms();
    problem.units = kept->units();
  }
  PARLEY_TRY(outcome.fit, catalog::method_of(job).train_over_join(problem, watch.observer));
  if (kept) {
    PARLEY_TRY(outcome.privacy, kept->report(job));
    outcome.notes.insert(outcome.notes.end(), outcome.privacy->notes.begin(), outcome.privacy->notes.end());
  }
  if (!job.privacy && outcome.fit.stop == algorithms::Stop::kInterrupted && outcome.fit.iterations == 0)
    return fail(stopped_early());
  outcome.train_seconds = training.seconds();
  for (std::size_t p = 0; p < members.size(); ++p) {
    const std::vector<double> weights =
        joined.weights_of(job.tables.table_of(static_cast<int>(p)), outcome.fit.weights);
    PARLEY_TRY(outcome.parts.emplace_back(), catalog::part_of_table(job, introductions[p], weights));
    if (outcome.privacy) stamp(*outcome.privacy, outcome.parts.back().provenance);
  }
  outcome.trained = outcome.parts.front();
  std::vector<const data::Dataset*> train, test;
  for (const Member& member : members) {
    train.push_back(&member.table.train);
    if (member.table.test) test.push_back(&*member.table.test);
  }
  PARLEY_TRY(outcome.train, score(outcome, train));
  if (test.size() == members.size()) {
    PARLEY_TRY(outcome.test, score(outcome, test));
  }
  return outcome;
}

}  // namespace parley::runs
