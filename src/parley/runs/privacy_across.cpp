#include "parley/runs/privacy_across.h"

#include <fmt/format.h>

#include <algorithm>

#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/runs/member.h"

namespace parley::runs {

namespace {

Result<privacy::Delta> target_delta(const jobs::Job& job, const jobs::Introduction& said) {
  const auto n = static_cast<double>(said.rows);
  return privacy::Delta::make(job.privacy->delta.value_or(1 / (n * n)));
}

// How labels left a party with columns.
std::string of_labels(const jobs::Job& job) {
  if (!job.labels.noise) return " Labels are declared public, and nothing is claimed about them.";
  const privacy::LabelNoise& noise = *job.labels.noise;
  return fmt::format(
      " Labels leave once, {}, with epsilon {} each, {}; the loss is corrected for the noise.",
      noise.mechanism == privacy::LabelNoise::Mechanism::kLaplace ? "with Laplace noise" : "by randomised response",
      noise.epsilon, protects_records(job) ? "a part of that" : "drawn by the party that holds them");
}

}  // namespace

Result<PrivacyReport> report_of(const jobs::Job& job, const jobs::Introduction& said, int party) {
  const jobs::PrivacySection& section = *job.privacy;
  PARLEY_TRY(const privacy::Delta delta, target_delta(job, said));
  PARLEY_TRY(const privacy::Epsilon epsilon, privacy::Epsilon::make(section.epsilon));
  PrivacyReport report{.budget = {epsilon, delta, privacy::Composition::kPlans}};
  PARLEY_TRY(report.plan, privacy::parse_plan(said.plan, said.party + " (plan)"));
  report.claimed = !job.seed;
  report.epsilon = said.epsilon;
  report.delta = said.delta;
  report.unit = section.unit;
  report.neighbours = section.neighbours;
  report.against = section.against;
  report.covered = covered_by(job);
  report.holding = catalog::holding_of(job);
  report.found_in_common = job.secure.align != jobs::SecureSection::Align::kGiven;
  report.calibration = section.calibration;
  for (const privacy::Event& event : report.plan.events) report.releases += event.count;
  report.records = section.unit == privacy::Unit::kClient ? job.parties.size() : static_cast<std::size_t>(said.rows);
  report.derivative_bound = said.derivative_bound;
  report.pinned = said.pins_peers;
  PARLEY_TRY(const privacy::Account account, privacy::account_at_delta(report.plan, delta));
  report.accountant = privacy::name(account.chosen);
  note_loudest_noise(report, report.plan, section.epsilon, report.records);
  report.statement = statement_of(report, noise_seed(job, party));
  return report;
}

Result<PrivacyReport> privacy_across(const jobs::Job& job, const jobs::Introduction& first,
                                     const std::vector<PrivacyReport>& parties) {
  const catalog::Federation& federation = *catalog::federation_of(job);
  PARLEY_TRY(const privacy::Delta delta, target_delta(job, first));
  std::vector<privacy::Plan> plans;
  plans.reserve(parties.size());
  for (const PrivacyReport& party : parties) plans.push_back(party.plan);
  const auto most = std::max_element(parties.begin(), parties.end(),
                                     [](const auto& a, const auto& b) { return a.epsilon < b.epsilon; });
  PrivacyReport all = *most;
  all.pinned = std::all_of(parties.begin(), parties.end(), [](const PrivacyReport& party) { return party.pinned; });
  if (most->pinned && !all.pinned) all.statement = statement_of(all, job.seed);
  all.releases = 0;
  for (const PrivacyReport& party : parties) all.releases += party.releases;
  PARLEY_TRY(all.epsilon, privacy::epsilon_across(plans, federation.holding(), delta));
  all.delta = delta.value();
  const bool clients = all.unit == privacy::Unit::kClient;
  const bool joint = federation.holding() == privacy::Holding::kJointReleases;
  const bool parts = joint || federation.holding() == privacy::Holding::kSameRecords;
  all.records = 0;
  for (const PrivacyReport& party : parties)
    all.records = parts || clients ? party.records : all.records + party.records;
  if (!protects_records(job)) {
    all.statement = fmt::format("{} parties.{} {}", job.parties.size(), of_labels(job), all.statement);
    return all;
  }
  all.statement = fmt::format(
      "{} parties, {}: a {} costs epsilon {:.4g} at delta {:.3g} in all.{} Each party: {}", parties.size(),
      joint     ? "each with a part of every record, that release nothing but together"
      : parts   ? "each with a part of every record, whose costs add up"
      : clients ? "each a client"
                : "each with records of its own",
      privacy::name(all.unit), all.epsilon, all.delta,
      joint     ? " Labels are covered like features: they never leave their party."
      : parts   ? of_labels(job)
      : clients ? " It is assumed that each person is at one client only."
                : " It is assumed that each person is at one party only: whoever is at several pays at each.",
      all.statement);
  return all;
}

}  // namespace parley::runs
