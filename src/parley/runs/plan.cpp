#include "parley/runs/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "parley/algorithms/parts/smoothness.h"
#include "parley/algorithms/sgd/gradient_descent.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/join_of_tables.h"
#include "parley/catalog/method.h"
#include "parley/catalog/party_table.h"
#include "parley/catalog/tables.h"
#include "parley/core/text.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/accounting/statement.h"
#include "parley/privacy/ledger/ledger_folder.h"
#include "parley/runs/plan_across.h"
#include "parley/runs/private_join.h"
#include "parley/runs/private_site.h"
#include "parley/runs/report.h"

namespace parley::runs {

using Json = nlohmann::ordered_json;

namespace {

constexpr double kQuiet = 0.1;      // noise over the largest signal that leaves something to learn
constexpr int kManyTimes = 4;       // the suggested steps: noise beyond that is worth a word
constexpr int kTrainerVectors = 6;  // margins, derivatives, sums, weights and their copies, about

// The steps that the ledger's budget would still charge.
Result<std::int64_t> steps_that_fit(const jobs::Job& job, PrivateSite& site, const JobPlan& plan) {
  if (job.privacy->ledger.empty()) return plan.steps;
  PARLEY_TRY(const bool there, privacy::holds_database(job.privacy->ledger));
  if (!there) return plan.steps;
  PARLEY_TRY(privacy::Ledger ledger, privacy::Ledger::open_read_only(job.privacy->ledger));
  return ledger.steps_that_fit(site.purse(), site.gate().requests().back());
}

void describe_releases(const jobs::Job& job, JobPlan& plan) {
  const privacy::Neighbours neighbours = job.privacy->neighbours;
  const double total = privacy::zcdp_of(plan.privacy->plan).value_or(0);
  for (const privacy::Event& event : plan.privacy->plan.events) {
    const double cost = privacy::zcdp_of({neighbours, {event}}).value_or(0);
    plan.releases.push_back({event, noise_to_signal(event.mechanism, plan.records, neighbours),
                             std::isfinite(total) && total > 0 ? cost / total : 0});
  }
  // Noise per step grows as the square root of the number of steps.
  const double loudest = plan.privacy->noise_to_signal;
  if (plan.steps > 0 && loudest > 0) {
    const double quiet = static_cast<double>(plan.steps) * (kQuiet / loudest) * (kQuiet / loudest);
    if (quiet < 0.9 * static_cast<double>(plan.steps)) plan.quiet_steps = static_cast<std::int64_t>(std::floor(quiet));
  }
}

// Of algorithms that learn every column from noisy gradients; selections of single columns are judged by their own noise.
Result<void> warn_of_likely_signal(const jobs::Job& job, const algorithms::Problem& problem, JobPlan& plan) {
  if (job.algorithm != "gradient-descent" && job.algorithm != "sgd") return {};
  PARLEY_TRY(const double noise, algorithms::noise_beside_likely_signal(problem));
  if (noise < 0.5) return {};
  plan.warnings.push_back(fmt::format(
      "{} at n = {}, {} and epsilon = {}: the noise of all steps together is {:.2g} times what data of this "
      "size usually show; the base rate {} the answer. More records, fewer columns or a larger epsilon help",
      noise >= 1 ? "this job cannot work" : "this job will learn little",
      with_commas(static_cast<long long>(plan.records)), counted(plan.columns, "column"), job.privacy->epsilon, noise,
      noise >= 1 ? "is" : "may be"));
  return {};
}

void warn(const jobs::Job& job, JobPlan& plan) {
  const double loudest = plan.privacy->noise_to_signal;
  if (loudest >= 1)
    plan.warnings.push_back(fmt::format(
        "this job cannot work at n = {} and epsilon = {}: the noise of a release is {:.3g} times the largest "
        "signal that any data could have",
        with_commas(static_cast<long long>(plan.records)), job.privacy->epsilon, loudest));
  else if (loudest > kQuiet * 1.05)
    plan.warnings.push_back(fmt::format(
        "noise is {:.2g} of the largest signal that any data could have; real signals are smaller", loudest));
  if (plan.quiet_steps && *plan.quiet_steps >= 1)
    plan.warnings.push_back(fmt::format("with {} instead of {} it would stay below {}",
                                        counted(*plan.quiet_steps, "step"), with_commas(plan.steps), kQuiet));
  if (plan.suggested_steps && plan.steps > kManyTimes * *plan.suggested_steps)
    plan.warnings.push_back(
        fmt::format("{} steps share the budget where the number of records, the columns, the radius and the target "
                    "suggest {}; each is "
                    "noisier for it: leave algorithm.iterations out",
                    with_commas(plan.steps), with_commas(*plan.suggested_steps)));
  if (job.tune)
    plan.warnings.emplace_back(
        "the job tunes: this is one run at the whole target; each run of the search would have about half of its "
        "epsilon, and more noise");
  if (plan.fitting_steps < plan.steps)
    plan.warnings.push_back(fmt::format("the ledger's budget holds {} of {}: the run would stop there (exit 3)",
                                        with_commas(plan.fitting_steps), counted(plan.steps, "step")));
}

// What a trainer asked of the site, of which `report` tells.
Result<void> price(const jobs::Job& job, PrivateSite& site, PrivacyReport report, JobPlan& plan) {
  plan.steps = site.gate().requests().back().steps;
  plan.privacy = std::move(report);
  PARLEY_TRY(const privacy::Account account, privacy::account_at_delta(plan.privacy->plan, site.terms().target.delta));
  plan.privacy->epsilon = account.epsilon;
  plan.privacy->delta = account.delta;
  plan.privacy->accountant = privacy::name(account.chosen);
  describe_releases(job, plan);
  PARLEY_TRY(plan.fitting_steps, steps_that_fit(job, site, plan));
  return {};
}

Error nothing_released(const jobs::Job& job) {
  return failed(fmt::format("{} released nothing: there is nothing to plan", job.algorithm));
}

Result<void> plan_private_join(const jobs::Job& job, JobPlan& plan) {
  // How a table is stored is not public.
  for (PlannedTable& table : plan.join->tables)
    table.bytes = static_cast<std::int64_t>(sizeof(double)) * table.tuples * table.columns;
  std::vector<int> everyone(job.parties.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  PARLEY_TRY(const std::vector<catalog::PartyTable> tables,
             catalog::read_tables(job, everyone, catalog::files_of(job)));
  std::vector<const catalog::PartyTable*> all;
  std::vector<std::string> classes;
  for (const catalog::PartyTable& table : tables) {
    all.push_back(&table);
    if (!table.train.labels.values.empty()) classes = table.train.labels.classes;
  }
  PARLEY_TRY(const catalog::JoinOfTables join, catalog::JoinOfTables::make(job, all));
  const glm::Objective objective = catalog::objective_of(job, classes);
  PARLEY_TRY(PrivateJoin kept, PrivateJoin::open(job, all, join, objective, PrivateSite::Purpose::kRehearsal));
  algorithms::JoinedProblem problem = join.problem(objective);
  problem.privacy = &kept.terms();
  problem.units = kept.units();
  const auto fit = catalog::method_of(job).train_over_join(problem, {});
  if (kept.site().gate().requests().empty()) return fail(fit ? nothing_released(job) : fit.error());
  plan.records = kept.site().facts().records;
  PARLEY_TRY(PrivacyReport report, kept.report(job));
  PARLEY_CHECK(price(job, kept.site(), std::move(report), plan));
  warn(job, plan);
  return {};
}

Json privacy_json(const JobPlan& plan) {
  if (!plan.privacy) return nullptr;
  Json json = {{"epsilon", plan.privacy->epsilon},
               {"delta", plan.privacy->delta},
               {"unit", privacy::name(plan.privacy->unit)},
               {"neighbours", privacy::name(plan.privacy->neighbours)},
               {"against", against_whom(*plan.privacy)},
               {"accountant", plan.privacy->accountant},
               {"derivative_bound", plan.privacy->derivative_bound},
               {"steps", plan.steps},
               {"steps_the_budget_holds", plan.fitting_steps},
               {"steps_suggested", std::min(plan.suggested_steps.value_or(plan.steps),
                                            std::max<std::int64_t>(1, plan.quiet_steps.value_or(plan.steps)))},
               {"noise_to_signal", plan.privacy->noise_to_signal},
               {"smoothness_floor", plan.smoothness_floor ? Json(*plan.smoothness_floor) : Json(nullptr)},
               {"releases", Json::array()}};
  for (const PlannedRelease& release : plan.releases) {
    Json event = Json::parse(privacy::to_json(release.event));
    event["noise_to_signal"] = release.noise_to_signal;
    event["share"] = release.share;
    json["releases"].push_back(std::move(event));
  }
  json["excess_risk"] = plan.risk ? Json{{"order", plan.risk->formula}, {"value", plan.risk->value}} : Json(nullptr);
  return json;
}

std::string cost_line(const JobPlan& plan) {
  const PrivacyReport& privacy = *plan.privacy;
  return fmt::format("epsilon {} at delta {} ({}), for one {}, {} neighbours", privacy::rounded_up(privacy.epsilon, 4),
                     privacy::rounded_up(privacy.delta, 3), privacy.accountant,
                     privacy.unit_in_full.empty() ? privacy::name(privacy.unit) : privacy.unit_in_full,
                     privacy::name(privacy.neighbours));
}

std::string releases_table(const JobPlan& plan) {
  std::string table =
      fmt::format("\n  {:<22} {:>10}  {:<34} {:>16} {:>8}\n", "release", "count", "noise", "noise / signal", "share");
  for (const PlannedRelease& release : plan.releases)
    table += fmt::format("  {:<22} {:>10}  {:<34} {:>16.3g} {:>7.0f} %\n", privacy::name(release.event.mechanism),
                         with_commas(release.event.count), noise_of(release.event.mechanism), release.noise_to_signal,
                         100 * release.share);
  return table + "  (signal: the largest that any data of this many records could have; share: of the privacy cost)\n";
}

}  // namespace

Result<JobPlan> plan_job(const jobs::Job& job) {
  const catalog::Method& method = catalog::method_of(job);
  if (!job.tables.empty()) {
    JobPlan plan;
    PARLEY_TRY(plan.join, plan_join(job));
    if (method.train_over_join && job.privacy) PARLEY_CHECK(plan_private_join(job, plan));
    if (job.labels.noise)
      plan.warnings.push_back(fmt::format(
          "labels leave with noise, at epsilon {} for each, which the run charges before it begins; nothing else is "
          "protected",
          job.labels.noise->epsilon));
    return plan;
  }
  if (method.federation) return plan_across(job);
  PARLEY_TRY(const catalog::PartyTable data, catalog::read_alone(job, catalog::files_of(job.parties.front())));
  const glm::Objective objective = catalog::objective_of(job, data.train.labels.classes);
  JobPlan plan;
  plan.records = data.train.rows();
  plan.columns = static_cast<std::size_t>(data.features.cols());
  plan.memory_bytes = data.features.bytes() + kTrainerVectors * sizeof(double) * (plan.records + plan.columns) *
                                                  static_cast<std::size_t>(objective.classes);
  if (!job.privacy) return plan;
  PARLEY_TRY(const auto site,
             PrivateSite::open(job, data.train, data.features, objective, PrivateSite::Purpose::kRehearsal));
  plan.records = site->facts().records;  // which the plan is made from
  // How many entries a table has is not public: a power of two tells its holder enough.
  plan.memory_bytes = std::bit_ceil(plan.memory_bytes);
  const algorithms::Problem problem{site->features(), data.train.labels.values, objective, &site->terms()};
  const auto fit = method.train(problem, {});
  if (site->gate().requests().empty()) return fail(fit ? nothing_released(job) : fit.error());
  PARLEY_TRY(const auto smoothness, algorithms::plan_smoothness(site->terms()));
  if (smoothness) plan.smoothness_floor = smoothness->floor;
  PARLEY_TRY(PrivacyReport report, site->report());
  PARLEY_CHECK(price(job, *site, std::move(report), plan));
  const catalog::Row& row = method.row();
  if (row.risk)
    plan.risk = row.risk(static_cast<double>(plan.records), static_cast<double>(plan.columns), site->terms().target);
  if (row.suggested_steps) plan.suggested_steps = row.suggested_steps(problem);
  warn(job, plan);
  PARLEY_CHECK(warn_of_likely_signal(job, problem, plan));
  return plan;
}

std::string plan_json(const jobs::Job& job, const JobPlan& plan) {
  if (!plan.parties.empty()) return plan_across_json(job, plan);
  if (plan.join)
    return Json{{"job", job.name},
                {"algorithm", job.algorithm},
                {"join", Json::parse(join_json(*plan.join))},
                {"privacy", privacy_json(plan)},
                {"warnings", plan.warnings}}
        .dump(1);
  Json json{{"job", job.name}, {"algorithm", job.algorithm}, {"records", plan.records}, {"columns", plan.columns}};
  if (!plan.privacy) json["memory_bytes"] = plan.memory_bytes;
  json["privacy"] = privacy_json(plan);
  json["warnings"] = plan.warnings;
  if (plan.privacy) json["simulation"] = {{"covered", false}, {"memory_bytes", plan.memory_bytes}};
  return json.dump(1);
}

std::string plan_table(const jobs::Job& job, const JobPlan& plan) {
  if (!plan.parties.empty()) return plan_across_table(job, plan);
  std::string table = fmt::format("{}: {} by {}\n\n", job.name, glm::name(job.objective.task), job.algorithm);
  if (plan.join) {
    table += join_table(*plan.join);
    if (plan.privacy)
      table += fmt::format("  {:<18} {}\n  {:<18} {}\n", "steps", with_commas(plan.steps), "cost", cost_line(plan)) +
               releases_table(plan);
    for (const std::string& warning : plan.warnings) table += "  warning: " + warning + "\n";
    return table;
  }
  const auto line = [&](const char* name, const std::string& value) {
    table += fmt::format("  {:<18} {}\n", name, value);
  };
  line("records", with_commas(static_cast<long long>(plan.records)));
  line("columns", with_commas(static_cast<long long>(plan.columns)));
  const std::string memory = fmt::format("about {:.1f} MiB", static_cast<double>(plan.memory_bytes) / (1 << 20));
  if (!plan.privacy) line("memory", memory);
  if (!plan.privacy) return table + "\n  This run would not be private: the job has no [privacy] section.\n";
  line("steps", with_commas(plan.steps));
  line("cost", cost_line(plan));
  if (plan.smoothness_floor)
    line("smoothness",
         fmt::format("one release before the steps; no column counts for less than {:.2g} of its bound's constant",
                     *plan.smoothness_floor));
  if (plan.risk) line("excess risk", fmt::format("order of {} = {:.3g}", plan.risk->formula, plan.risk->value));
  table += releases_table(plan);
  for (const std::string& warning : plan.warnings) table += "  warning: " + warning + "\n";
  table += fmt::format("\n  {}\n", kNotCovered);
  line("memory", memory);
  return table;
}

}  // namespace parley::runs
