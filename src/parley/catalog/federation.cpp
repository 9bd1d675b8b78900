#include "parley/catalog/federation.h"

#include <algorithm>
#include <random>

#include "parley/catalog/method.h"
#include "parley/catalog/relational_terms.h"

namespace parley::catalog {

namespace {

// The job's seed, or one from the operating system.
std::uint64_t seed_of(const jobs::Job& job) {
  if (job.seed) return static_cast<std::uint64_t>(*job.seed);
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) ^ device();
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
                             .seed = seed_of(job),
                             .parties = static_cast<int>(job.parties.size()),
                             .is_private = jobs::protects_records(job),
                             .calibration = job.privacy ? job.privacy->calibration : privacy::Calibration::kProved,
                             .public_labels = job.labels.declared_public || job.labels.noise.has_value(),
                             .label_noise = job.labels.noise,
                             .inference = job.inference,
                             .keep_parts = job.keep_parts,
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
