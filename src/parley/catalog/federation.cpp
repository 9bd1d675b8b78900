#include "parley/catalog/federation.h"

#include <algorithm>
#include <charconv>

#include "parley/catalog/method.h"
#include "parley/catalog/relational_terms.h"
#include "parley/privacy/ledger/digest.h"

namespace parley::catalog {

namespace {

// Of samplings, sketches and batches, which everybody in a run must draw alike, also a coordinator that was started
// again: the job's, or one that follows from its text. Whoever has the job knows it, so nothing that hides data is drawn
// from it: noise and the samples that a claim counts on are the gate's.
std::uint64_t public_seed_of(const jobs::Job& job) {
  if (job.seed) return static_cast<std::uint64_t>(*job.seed);
  const std::string digest = privacy::digest_of("public seed " + job.digest);
  std::uint64_t seed = 0;
  std::from_chars(digest.data(), digest.data() + 16, seed, 16);
  return seed;
}

}  // namespace

Result<void> check_federated(const jobs::Job& job) {
  if (job.privacy && job.privacy->calibration != privacy::Calibration::kProved)
    return fail(bad_input({job.file, 0, "privacy.calibration"},
                          "no paper gives noise for this algorithm that holds; use \"proved\"", "paper"));
  return federation_of(job)->check(job);
}

privacy::Holding holding_of(const jobs::Job& job) {
  const Federation* federation = federation_of(job);
  return federation == nullptr ? privacy::Holding::kDisjointRecords : federation->holding();
}

glm::Objective objective_of(const jobs::Job& job, const std::vector<std::string>& classes) {
  glm::Objective objective = job.objective;
  objective.classes = objective.task == glm::Task::kSoftmax ? static_cast<int>(classes.size()) : 1;
  return objective;
}

algorithms::RunTerms terms_of(const jobs::Job& job, const std::vector<std::string>& classes, const std::string& run) {
  algorithms::RunTerms terms{.objective = objective_of(job, classes),
                             .seed = public_seed_of(job),
                             .seeded = job.seed.has_value(),
                             .parties = static_cast<int>(job.parties.size()),
                             .is_private = jobs::protects_records(job),
                             .calibration = job.privacy ? job.privacy->calibration : privacy::Calibration::kProved,
                             .public_labels = job.labels.declared_public || job.labels.noise.has_value(),
                             .label_noise = job.labels.noise,
                             .inference = job.inference,
                             .keep_parts = job.keep_parts,
                             .quorum = job.rules.on_missing == rounds::OnMissing::kProceed ? job.rules.quorum : 0,
                             .run = run,
                             .relational = {}};
  if (!job.tables.empty())
    terms.relational = std::make_shared<const algorithms::RelationalTerms>(relational_terms(job));
  if (!job.privacy) return terms;
  terms.neighbours = job.privacy->neighbours;
  const auto epsilon = privacy::Epsilon::make(job.privacy->epsilon);
  const auto delta = privacy::Delta::make(job.privacy->delta.value_or(0));  // which a job of clients states
  if (job.privacy->unit == privacy::Unit::kClient && epsilon && delta)
    terms.client = privacy::Target{*epsilon, *delta, terms.neighbours};
  return terms;
}

std::vector<std::string> classes_of(std::span<const jobs::Introduction> parties) {
  for (const jobs::Introduction& party : parties)
    if (!party.classes.empty()) return party.classes;
  return {};
}

Result<std::vector<algorithms::PartyFacts>> facts_of(const jobs::Job& job,
                                                     std::span<const jobs::Introduction> parties) {
  std::vector<algorithms::PartyFacts> facts;
  for (const jobs::Introduction& said : parties) {
    const auto at = std::find_if(job.parties.begin(), job.parties.end(),
                                 [&](const jobs::PartySection& party) { return party.name == said.party; });
    facts.push_back({.party = static_cast<int>(at - job.parties.begin()),
                     .records = said.rows,
                     .columns = static_cast<std::size_t>(said.column_count),
                     .bounds = said.bounds,
                     .row_norm = said.row_norm,
                     .labels = said.labels});
    if (job.data.scale == jobs::Scale::kBounds)
      for (double& bound : facts.back().bounds) bound = bound > 0 ? 1 : 0;
    if (said.plan.empty() || !jobs::protects_records(job)) continue;
    facts.back().missing_steps = said.missing_steps;
    PARLEY_TRY(facts.back().plan, privacy::parse_plan(said.plan, said.party + " (plan)"));
  }
  return facts;
}

algorithms::Stop stop_of(rounds::Ended ended, bool converged) {
  switch (ended) {
    case rounds::Ended::kStopped:
      return algorithms::Stop::kInterrupted;
    case rounds::Ended::kBudgetEnded:
      return algorithms::Stop::kBudgetEnded;
    case rounds::Ended::kDone:
      break;
  }
  return converged ? algorithms::Stop::kConverged : algorithms::Stop::kIterations;
}

}  // namespace parley::catalog
