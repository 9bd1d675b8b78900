#include "parley/runs/outcome.h"

#include <limits>
#include <utility>

#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/runs/privacy_across.h"

namespace parley::runs {

namespace {

// How many records the parties train on together, as they said: each is counted once, also where every party has a part
// of it.
std::size_t records_of(const catalog::Federation& federation, std::span<const jobs::Introduction> parties) {
  std::size_t records = 0;
  for (const jobs::Introduction& party : parties)
    records =
        static_cast<std::size_t>(party.rows) + (federation.holding() == privacy::Holding::kSameRecords ? 0 : records);
  return records;
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
  outcome.train.rows = records_of(federation, run.parties);
  outcome.trained.provenance.privacy = models::kNotPrivate;
  PARLEY_TRY(outcome.parts, federation.model(job, {run.parties, run.learnt.parameters, memories}));
  if (job.privacy) {
    for (std::size_t p = reports.size(); p < run.parties.size(); ++p) {
      PARLEY_TRY(PrivacyReport said, report_of(job, run.parties[p], static_cast<int>(p)));
      reports.push_back(std::move(said));
    }
    PARLEY_TRY(outcome.privacy, privacy_across(job, run.parties.front(), reports));
    outcome.notes = outcome.privacy->notes;
    // A part of a model is its party's own, and says what its party can say.
    for (std::size_t p = 0; p < outcome.parts.size(); ++p)
      stamp(outcome.parts[p].part ? reports[p] : *outcome.privacy, outcome.parts[p].provenance);
  }
  if (!outcome.parts.empty()) outcome.trained = outcome.parts.front();
  if (outcome.privacy) stamp(*outcome.privacy, outcome.trained.provenance);
  if (outcome.parts.empty())
    for (const jobs::Introduction& party : run.parties)
      outcome.elsewhere.push_back({party.party, static_cast<std::size_t>(party.column_count)});
  return outcome;
}

}  // namespace parley::runs
