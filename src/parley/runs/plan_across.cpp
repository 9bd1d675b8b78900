#include "parley/runs/plan_across.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "parley/algorithms/vertical/shared_feature.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/core/text.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/accounting/statement.h"
#include "parley/privacy/ledger/ledger_folder.h"
#include "parley/runs/member.h"
#include "parley/runs/privacy_across.h"
#include "parley/runs/report.h"
#include "parley/wire/frame.h"

namespace parley::runs {

using Json = nlohmann::ordered_json;

namespace {

constexpr double kHardToFind = 0.1;  // a signal of this share of the largest is what data usually have
constexpr std::size_t kVectors = 6;  // of a party, about

// Every party's table, in a rehearsal of its site where it pays.
Result<std::vector<Member>> rehearsing(const jobs::Job& job) {
  const catalog::Federation& federation = *catalog::federation_of(job);
  std::vector<int> everyone(job.parties.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  PARLEY_TRY(std::vector<catalog::PartyTable> tables, federation.read(job, everyone, catalog::files_of(job)));
  std::vector<Member> members;
  std::vector<jobs::Introduction> said;
  for (catalog::PartyTable& table : tables) {
    members.push_back({std::move(table)});
    said.push_back(introduce(members.back()));
  }
  PARLEY_CHECK(federation.check(job, said));
  const glm::Objective objective = catalog::objective_of(job, members.front().table.train.labels.classes);
  for (Member& member : members)
    if (jobs::pays(job, member.table.number)) PARLEY_CHECK(open_rehearsal(job, objective, member));
  return members;
}

// What the ledger beside the job would still charge of it.
Result<std::int64_t> steps_that_fit(const jobs::Job& job, const Member& member, const privacy::PlanRequest& request) {
  PARLEY_TRY(const bool there, privacy::holds_database(job.privacy->ledger));
  if (!there) return request.steps;
  PARLEY_TRY(privacy::Ledger ledger, privacy::Ledger::open_read_only(job.privacy->ledger));
  return ledger.steps_that_fit(member.site->purse(), request);
}

// What one party would charge, into its introduction, as the coordinator would learn it.
Result<void> charge(const jobs::Job& job, const Member& member, PlannedParty& party, jobs::Introduction& said) {
  const PrivateSite& site = *member.site;
  const catalog::Federation& federation = *catalog::federation_of(job);
  PARLEY_TRY(const privacy::PlanRequest request,
             site.rehearse([&](privacy::Gate& gate) { return federation.reserve(job, member.table, gate); }));
  const privacy::Plan plan = request.plan(job.privacy->neighbours, request.steps);
  PARLEY_TRY(const privacy::Account account, privacy::account_at_delta(plan, site.terms().target.delta));
  party.epsilon = account.epsilon;
  party.delta = account.delta;
  party.steps = request.steps;
  PARLEY_TRY(party.fitting_steps, steps_that_fit(job, member, request));
  const double total = privacy::zcdp_of(plan).value_or(0);
  for (const privacy::Event& event : plan.events) {
    const double cost = privacy::zcdp_of({job.privacy->neighbours, {event}}).value_or(0);
    party.releases.push_back({event, noise_to_signal(event.mechanism, site.facts().records, job.privacy->neighbours),
                              std::isfinite(total) && total > 0 ? cost / total : 0});
    // The winner of 2d signed columns has about ln(2d) times the noise of one above its score.
    if (std::holds_alternative<privacy::Exponential>(event.mechanism))
      party.floor = party.releases.back().noise_to_signal * std::log(2.0 * static_cast<double>(party.columns));
  }
  said.plan = privacy::to_json(plan);
  said.epsilon = party.epsilon;
  said.delta = party.delta;
  said.derivative_bound = site.terms().derivative_bound;
  return {};
}

// As they would travel, the largest first.
std::vector<double> bytes_of_columns(const catalog::PartyTable& table) {
  const algorithms::ColumnShare share{table.features, {}};
  const algorithms::FeatureSpace space(static_cast<std::size_t>(table.features.rows()), 0,
                                       linalg::SketchKind::kGaussian, 0);
  std::vector<double> bytes;
  for (std::size_t j = 0; j < algorithms::columns_of(share); ++j) {
    const algorithms::SharedFeature feature = space.feature_of(share, j);
    bytes.push_back(static_cast<double>(feature.values.size() + sizeof(linalg::Index) * feature.rows.size()));
  }
  std::sort(bytes.begin(), bytes.end(), std::greater<>());
  return bytes;
}

void warn(const jobs::Job& job, JobPlan& plan) {
  const auto say = [&](std::string text) { plan.warnings.push_back(std::move(text)); };
  for (const PlannedParty& party : plan.parties) {
    if (party.floor && *party.floor > kHardToFind)
      say(
          fmt::format("'{}' would pick columns by chance: a signal must be {:.2g} of the largest that any data could "
                      "have, and usual ones are {} of it or less; more records, fewer steps or a larger epsilon",
                      party.name, *party.floor, kHardToFind));
    for (const PlannedRelease& release : party.releases) {
      const auto* noise = std::get_if<privacy::Gaussian>(&release.event.mechanism);
      const bool values = plan.forecast.one_value_per_record && noise != nullptr && release.event.count > 1;
      // Its sensitivity is that of the whole vector, twice the bound of a value at least.
      const double over = values ? 2 * noise->sigma / noise->sensitivity : release.noise_to_signal;
      if (over >= 1)
        say(values ? fmt::format("this job cannot work at epsilon {}: the noise on every value of '{}' is at least "
                                 "{:.2g} times the largest that a value may be",
                                 job.privacy->epsilon, party.name, over)
                   : fmt::format("this job cannot work at n = {} and epsilon = {}: the noise of a release of '{}' is "
                                 "{:.3g} times the largest signal that any data could have",
                                 with_commas(static_cast<long long>(plan.records)), job.privacy->epsilon, party.name,
                                 over));
    }
    if (party.fitting_steps < party.steps)
      say(fmt::format("the budget of '{}' holds {} of {}: the run would stop there (exit 3)", party.name,
                      with_commas(party.fitting_steps), counted(party.steps, "step")));
  }
}

}  // namespace

Result<JobPlan> plan_across(const jobs::Job& job) {
  PARLEY_CHECK(catalog::check_federated(job));
  const catalog::Federation& federation = *catalog::federation_of(job);
  PARLEY_TRY(const std::vector<Member> members, rehearsing(job));
  const bool same_records = federation.holding() != privacy::Holding::kDisjointRecords;
  JobPlan plan;
  std::vector<jobs::Introduction> said;
  std::vector<std::vector<double>> column_bytes;
  std::vector<PrivacyReport> reports;
  for (const Member& member : members) {
    jobs::Introduction& introduction = said.emplace_back(introduce(member));
    const linalg::Matrix& features = member.table.features;
    const auto rows = static_cast<std::size_t>(introduction.rows);
    plan.records = same_records ? rows : plan.records + rows;
    plan.columns = (same_records ? plan.columns : 0) + static_cast<std::size_t>(features.cols());
    PlannedParty& party = plan.parties.emplace_back();
    party.name = member.table.party;
    party.columns = static_cast<std::size_t>(features.cols());
    party.memory_bytes =
        features.bytes() + kVectors * sizeof(double) * static_cast<std::size_t>(features.rows() + features.cols());
    if (job.privacy) party.memory_bytes = std::bit_ceil(party.memory_bytes);
    plan.memory_bytes += party.memory_bytes;
    if (same_records) column_bytes.push_back(bytes_of_columns(member.table));
    if (!member.site) continue;
    // Why a rule of the algorithm refuses the run is what a plan is for.
    if (const auto charged = charge(job, member, party, introduction); !charged) {
      if (charged.error().fault != Fault::kBadInput) return fail(charged.error());
      plan.warnings.push_back("this job cannot work: " + charged.error().message);
      return plan;
    }
    PARLEY_TRY(PrivacyReport report, report_of(job, introduction, member.table.number));
    reports.push_back(std::move(report));
  }
  if (!reports.empty()) {
    PARLEY_TRY(plan.privacy, privacy_across(job, said.front(), reports));
  }
  PARLEY_TRY(plan.forecast, federation.forecast(job, said, column_bytes));
  for (std::size_t p = 0; p < plan.forecast.parties.size(); ++p) {
    algorithms::Traffic& traffic = plan.parties[p].traffic = plan.forecast.parties[p];
    traffic.up += static_cast<double>(wire::kHeaderBytes) * static_cast<double>(traffic.messages);
    traffic.down += static_cast<double>(wire::kHeaderBytes) * static_cast<double>(traffic.messages);
  }
  warn(job, plan);
  return plan;
}

namespace {

Json whole(double bytes) {
  return static_cast<std::int64_t>(std::ceil(bytes));
}

}  // namespace

std::string plan_across_json(const jobs::Job& job, const JobPlan& plan) {
  Json json{{"job", job.name},
            {"algorithm", job.algorithm},
            {"records", hides_count(job) ? Json(nullptr) : Json(plan.records)},
            {"columns", plan.columns},
            {"rounds", plan.forecast.rounds}};
  double up = 0, down = 0;
  Json parties = Json::array();
  for (const PlannedParty& party : plan.parties) {
    up += party.traffic.up;
    down += party.traffic.down;
    Json one{{"party", party.name}, {"columns", party.columns}};
    one["uplink_bytes"] = plan.forecast.parties.empty() ? Json(nullptr) : whole((party.traffic.up));
    one["downlink_bytes"] = plan.forecast.parties.empty() ? Json(nullptr) : whole((party.traffic.down));
    if (!job.privacy) one["memory_bytes"] = party.memory_bytes;
    if (!party.releases.empty()) {
      one["privacy"] = {{"epsilon", party.epsilon},
                        {"delta", party.delta},
                        {"steps", party.steps},
                        {"steps_the_budget_holds", party.fitting_steps},
                        {"floor", party.floor ? Json(*party.floor) : Json(nullptr)},
                        {"releases", Json::array()}};
      for (const PlannedRelease& release : party.releases) {
        Json event = Json::parse(privacy::to_json(release.event));
        event["noise_to_signal"] = release.noise_to_signal;
        event["share"] = release.share;
        one["privacy"]["releases"].push_back(std::move(event));
      }
    }
    parties.push_back(std::move(one));
  }
  const bool known = !plan.forecast.parties.empty();
  json["communication"] = {{"uplink_bytes", known ? whole((up)) : Json(nullptr)},
                           {"downlink_bytes", known ? whole((down)) : Json(nullptr)}};
  json["parties"] = std::move(parties);
  json["sketches"] = Json::array();
  for (const algorithms::SketchTrade& sketch : plan.forecast.sketches)
    json["sketches"].push_back({{"sketch", sketch.rows == static_cast<std::int64_t>(plan.records) ? 0 : sketch.rows},
                                {"column_bytes", whole(sketch.column_bytes)},
                                {"uplink_bytes", whole(sketch.uplink)},
                                {"scores_grow_by", sketch.blur}});
  if (!job.privacy) json["memory_bytes"] = plan.memory_bytes;
  json["privacy"] = nullptr;
  if (plan.privacy)
    json["privacy"] = {
        {"epsilon", plan.privacy->epsilon},          {"delta", plan.privacy->delta},
        {"unit", privacy::name(plan.privacy->unit)}, {"neighbours", privacy::name(plan.privacy->neighbours)},
        {"against", against_whom(*plan.privacy)},    {"statement", plan.privacy->statement}};
  json["warnings"] = plan.warnings;
  if (job.privacy) json["simulation"] = {{"covered", false}, {"memory_bytes", plan.memory_bytes}};
  return json.dump(1);
}

namespace {

std::string mebibytes(std::size_t bytes) {
  return fmt::format("about {:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

void add_parties(const JobPlan& plan, std::string& table) {
  table += fmt::format("\n  {:<16} {:>9} {:>12} {:>12}\n", "party", "columns", "up", "down");
  for (const PlannedParty& party : plan.parties)
    table +=
        fmt::format("  {:<16} {:>9} {:>12} {:>12}\n", party.name, with_commas(static_cast<long long>(party.columns)),
                    plan.forecast.parties.empty() ? "-" : human_bytes(party.traffic.up),
                    plan.forecast.parties.empty() ? "-" : human_bytes(party.traffic.down));
}

void add_releases(const JobPlan& plan, std::string& table) {
  table += fmt::format("\n  {:<16} {:<20} {:>8}  {:<30} {:>14} {:>7}\n", "party", "release", "count", "noise",
                       "noise / signal", "share");
  for (const PlannedParty& party : plan.parties)
    for (const PlannedRelease& release : party.releases)
      table += fmt::format("  {:<16} {:<20} {:>8}  {:<30} {:>14.3g} {:>5.0f} %\n", party.name,
                           privacy::name(release.event.mechanism), with_commas(release.event.count),
                           noise_of(release.event.mechanism), release.noise_to_signal, 100 * release.share);
  table += "  (signal: the largest that any data of this many records could have; share: of the party's cost)\n";
  for (const PlannedParty& party : plan.parties)
    if (party.floor)
      table += fmt::format("  a column that '{}' picks tells something from {:.2g} of the largest signal on\n",
                           party.name, *party.floor);
}

void add_sketches(const JobPlan& plan, std::string& table) {
  if (plan.forecast.sketches.empty()) return;
  table += fmt::format("\n  {:<16} {:>14} {:>12} {:>18}\n", "sketch", "bytes, column", "up, all", "scores grow by");
  for (const algorithms::SketchTrade& sketch : plan.forecast.sketches) {
    const bool plain = sketch.rows == static_cast<std::int64_t>(plan.records);
    table += fmt::format("  {:<16} {:>14} {:>12} {:>18}\n", plain ? "none" : with_commas(sketch.rows),
                         human_bytes(sketch.column_bytes), human_bytes(sketch.uplink),
                         plain ? "1" : fmt::format("up to {:.3g}", sketch.blur));
  }
  table += "  (errors of sketched margins: sqrt(n log n / m), which blurs which column is best)\n";
}

}  // namespace

std::string plan_across_table(const jobs::Job& job, const JobPlan& plan) {
  std::string table = fmt::format("{}: {} by {}\n\n", job.name, glm::name(job.objective.task), job.algorithm);
  const auto line = [&](const char* name, const std::string& value) {
    table += fmt::format("  {:<18} {}\n", name, value);
  };
  if (!hides_count(job)) line("records", with_commas(static_cast<long long>(plan.records)));
  line("columns", with_commas(static_cast<long long>(plan.columns)));
  if (plan.forecast.rounds > 0) line("rounds", "at most " + with_commas(plan.forecast.rounds));
  if (!job.privacy) line("memory", mebibytes(plan.memory_bytes) + ", all parties");
  if (plan.privacy)
    line("cost", fmt::format("epsilon {} at delta {}, for one {}, {} neighbours, all parties together",
                             privacy::rounded_up(plan.privacy->epsilon, 4), privacy::rounded_up(plan.privacy->delta, 3),
                             privacy::name(plan.privacy->unit), privacy::name(plan.privacy->neighbours)));
  add_parties(plan, table);
  if (plan.privacy) add_releases(plan, table);
  add_sketches(plan, table);
  for (const std::string& warning : plan.warnings) table += "  warning: " + warning + "\n";
  if (!job.privacy) return table + "\n  This run would not be private: the job has no [privacy] section.\n";
  if (!protects_records(job)) table += "  Features are not protected: the unit is the label.\n";
  table += fmt::format("\n  {}\n", kNotCovered);
  line("memory", mebibytes(plan.memory_bytes) + ", all parties");
  return table;
}

}  // namespace parley::runs
