#include "parley/runs/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/runs/privacy_across.h"

namespace parley::runs {

namespace {

// How many records the parties train on together, as they said: each is counted once, also where every party has a part
// of it. Of tables that are joined: those with a label.
std::size_t records_of(const jobs::Job& job, const catalog::Federation& federation,
                       std::span<const jobs::Introduction> parties) {
  std::size_t records = 0;
  if (!job.tables.empty()) {
    for (const jobs::Introduction& party : parties) records += party.labels ? static_cast<std::size_t>(party.rows) : 0;
    return records;
  }
  for (const jobs::Introduction& party : parties)
    records = static_cast<std::size_t>(party.rows) +
              (federation.holding() != privacy::Holding::kDisjointRecords ? 0 : records);
  return records;
}

bool weighs_records(const data::Schema& schema) {
  return std::any_of(schema.columns.begin(), schema.columns.end(),
                     [](const data::ColumnSchema& column) { return column.type == data::ColumnType::kWeight; });
}

}  // namespace

Result<Outcome> outcome_of(const jobs::Job& job, const Coordinated& run, std::span<const wire::Bytes> memories,
                           std::vector<PrivacyReport> reports) {
  const catalog::Federation& federation = *catalog::federation_of(job);
  Outcome outcome;
  outcome.fit.objective = outcome.fit.gap = std::numeric_limits<double>::quiet_NaN();
  outcome.fit.stop = run.learnt.stop;
  outcome.fit.iterations = static_cast<int>(run.learnt.rounds);
  outcome.fit.residuals = run.learnt.residuals;
  outcome.communication = run.communication;
  outcome.wait_seconds = run.wait_seconds;
  outcome.train.rows = records_of(job, federation, run.parties);
  outcome.trained.provenance.privacy = models::kNotPrivate;
  PARLEY_TRY(outcome.parts, federation.model(job, {run.parties, run.learnt.parameters, memories}));
  if (job.privacy) {
    if (reports.empty())
      for (std::size_t p = 0; p < run.parties.size(); ++p) {
        if (run.parties[p].plan.empty()) continue;
        PARLEY_TRY(PrivacyReport said, report_of(job, run.parties[p], static_cast<int>(p)));
        reports.push_back(std::move(said));
      }
    if (reports.empty()) return fail(failed("no party says what it was charged"));
    PARLEY_TRY(outcome.privacy, privacy_across(job, run.parties.front(), reports));
    outcome.notes = outcome.privacy->notes;
    // A part of a model is its party's own, and says what its party can say.
    const bool each_pays = protects_records(job);
    for (std::size_t p = 0; p < outcome.parts.size(); ++p) {
      models::Trained& part = outcome.parts[p];
      if (!part.part)
        stamp(*outcome.privacy, part.provenance);
      else if (each_pays || part.part->labels)
        stamp(each_pays ? reports[p] : reports.front(), part.provenance);
      else
        part.provenance.privacy = kLabelsElsewhere;
    }
  }
  if (!outcome.parts.empty()) outcome.trained = outcome.parts.front();
  if (outcome.privacy) stamp(*outcome.privacy, outcome.trained.provenance);
  if (job.inference && run.learnt.curvature)
    add_inference({outcome.trained.model, *run.learnt.curvature, outcome.train.rows,
                   jobs::weighs_classes(job) || weighs_records(outcome.trained.schema)},
                  outcome);
  if (outcome.parts.empty())
    for (const jobs::Introduction& party : run.parties)
      outcome.elsewhere.push_back({party.party, static_cast<std::size_t>(party.column_count)});
  return outcome;
}

void note_choice(const jobs::Job& job, Outcome& outcome) {
  if (!job.why.empty())
    outcome.notes.push_back(fmt::format("algorithm.name was not given: {}, because {}", job.algorithm, job.why));
  if (!outcome.fit.remark.empty()) outcome.notes.push_back(outcome.fit.remark);
  if (outcome.fit.l2_used)
    outcome.notes.push_back(fmt::format(
        "model.l2 was not given: a ridge of {:.3g}, from public numbers, keeps the noise out of the weights",
        *outcome.fit.l2_used));
}

void add_inference(const LikelihoodFit& fit, Outcome& outcome) {
  auto inference = infer(fit);
  if (inference)
    outcome.inference = std::move(*inference);
  else
    outcome.notes.push_back("no standard errors: " + inference.error().message);
}

void note_doubts(Outcome& outcome) {
  for (std::string& doubt : models::doubts(outcome.test ? *outcome.test : outcome.train))
    outcome.notes.push_back(std::move(doubt));
}

}  // namespace parley::runs
