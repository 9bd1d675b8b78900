#include "parley/runs/simulate.h"

#include <numeric>

#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/models/model_parts.h"
#include "parley/rounds/local_parties.h"
#include "parley/runs/coordinate.h"
#include "parley/runs/member.h"
#include "parley/runs/stopwatch.h"

namespace parley::runs {

namespace {

using catalog::Federation;

Result<models::Scored> score(const Federation& federation, std::span<const models::Trained> parts,
                             std::span<const data::Dataset* const> tables) {
  PARLEY_TRY(const Federation::Scores scores, federation.scores(parts, tables));
  return models::scored(models::with_labels(parts).model, scores.margins, scores.labels);
}

Result<void> measure(const Federation& federation, std::span<const Member> members, Outcome& outcome) {
  std::vector<const data::Dataset*> train, test;
  for (const Member& member : members) {
    train.push_back(&member.table.train);
    if (member.table.test) test.push_back(&*member.table.test);
  }
  PARLEY_TRY(outcome.train, score(federation, outcome.parts, train));
  if (test.size() == members.size()) {
    PARLEY_TRY(outcome.test, score(federation, outcome.parts, test));
  }
  note_doubts(outcome);
  return {};
}

// Every party's table; of a private run its site, once everything was looked at: before that no budget is set anywhere.
Result<std::vector<Member>> open_members(const jobs::Job& job, const catalog::Sources& sources, const Watch& watch) {
  const Federation& federation = *catalog::federation_of(job);
  std::vector<int> everyone(job.parties.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  PARLEY_TRY(std::vector<catalog::PartyTable> tables, federation.read(job, everyone, sources));
  if (watch.stop && watch.stop()) return fail(stopped_early());
  std::vector<Member> members;
  std::vector<jobs::Introduction> introductions;
  for (catalog::PartyTable& table : tables) {
    members.push_back({std::move(table)});
    introductions.push_back(introduce(members.back()));
  }
  PARLEY_CHECK(federation.check(job, introductions));
  for (Member& member : members) {
    if (!jobs::pays(job, member.table.number)) continue;
    PARLEY_CHECK(open_site(job, catalog::objective_of(job, members.front().table.train.labels.classes), member, {}));
    PARLEY_CHECK(
        member.site->rehearse([&](privacy::Gate& gate) { return federation.reserve(job, member.table, gate); }));
  }
  return members;
}

}  // namespace

Result<Outcome> simulate(const jobs::Job& job, const catalog::Sources& sources, const Watch& watch) {
  PARLEY_CHECK(catalog::check_federated(job));
  const Federation& federation = *catalog::federation_of(job);
  if (watch.phase) watch.phase(Reading{{}, static_cast<int>(job.parties.size())});
  const Stopwatch reading;
  PARLEY_TRY(const std::vector<Member> members, open_members(job, sources, watch));
  std::vector<rounds::Admission> admitted;
  std::vector<std::unique_ptr<rounds::Responder>> owned;
  std::vector<rounds::Responder*> parties;
  std::vector<const catalog::PartyTable*> tables;
  rounds::Terms terms{.job = job.name + " " + job.digest, .rules = {.largest_value = job.rules.largest_value}};
  std::vector<std::string> notes;
  for (const Member& member : members) {
    PARLEY_TRY(admitted.emplace_back(), admission_of(job, member));
    owned.push_back(std::move(admitted.back().party));
    admitted.back().party = std::make_unique<rounds::BorrowedParty>(*owned.back());
    parties.push_back(owned.back().get());
    tables.push_back(&member.table);
    terms.parties.push_back(member.table.party);
    for (const std::string& note : member.table.train.notes) notes.push_back(member.table.party + ": " + note);
  }
  const double read_seconds = reading.seconds();

  if (watch.phase) watch.phase(Training{});
  const Stopwatch training;
  rounds::LocalParties local(std::move(admitted), watch.tap);
  std::vector<double> history;
  std::optional<Error> broken;
  const auto after = [&](const catalog::Seen& seen) {
    const auto objective = seen.objective ? Result<double>(*seen.objective)
                                          : federation.objective(job, {tables, seen.parameters, parties});
    if (!objective) return broken = objective.error(), false;
    history.push_back(*objective);
    return !watch.observer ||
           watch.observer({static_cast<int>(seen.round), *objective, std::numeric_limits<double>::quiet_NaN(), 0});
  };
  PARLEY_TRY(rounds::Exchange exchange, rounds::Exchange::make(local.channel(), std::move(terms)));
  PARLEY_TRY(const Coordinated run, coordinate(job, exchange, {after, tables}));
  if (broken) return fail(*broken);
  const double train_seconds = training.seconds();

  std::vector<wire::Bytes> memories;
  std::vector<PrivacyReport> reports;
  for (std::size_t p = 0; p < parties.size(); ++p) {
    memories.push_back(parties[p]->memory());
    if (!members[p].site) continue;
    PARLEY_TRY(PrivacyReport report, members[p].site->report());
    reports.push_back(std::move(report));
  }
  PARLEY_TRY(Outcome outcome, outcome_of(job, run, memories, std::move(reports)));
  outcome.notes.insert(outcome.notes.begin(), notes.begin(), notes.end());
  outcome.read_seconds = read_seconds;
  outcome.train_seconds = train_seconds;
  outcome.fit.history = std::move(history);
  outcome.convergence = run.learnt.convergence;
  if (!outcome.fit.history.empty()) outcome.fit.objective = outcome.fit.history.back();
  outcome.wait_seconds = 0;  // nobody is elsewhere
  PARLEY_CHECK(measure(federation, members, outcome));
  return outcome;
}

}  // namespace parley::runs
