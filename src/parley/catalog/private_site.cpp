#include "parley/catalog/private_site.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/catalog/privacy_across.h"
#include "parley/catalog/trained.h"
#include "parley/core/text.h"
#include "parley/data/labels.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/accounting/statement.h"

namespace parley::catalog {

using privacy::Budget;
using privacy::Delta;
using privacy::Epsilon;
using privacy::Gate;

namespace {

// Noise above this share of the largest possible signal is worth a warning.
constexpr double kLoud = 0.5;

double public_label_bound(const Job& job, const data::Dataset& train) {
  if (job.objective.task != glm::Task::kLinear) return 1;
  for (const data::ColumnSchema& column : train.schema.columns)
    if (column.type == data::ColumnType::kLabel && column.bound()) return *column.bound();
  if (train.schema.label_bound) return *train.schema.label_bound;
  return job.data.label_bound.value_or(data::kUnbounded);
}

// As they are named in labels; empty where neither the job nor the schema lists them.
std::vector<std::string> listed_classes(const Job& job, const data::Schema& schema) {
  std::vector<std::string> listed = job.labels.classes;
  for (const data::ColumnSchema& column : schema.columns)
    if (listed.empty() && column.type == data::ColumnType::kLabel && column.confirmed) listed = column.levels;
  for (std::string& name : listed) name = data::class_name(name);
  return listed;
}

// The two labels that LIBSVM files and many tables have: a convention, and so public like the format itself, which decides between -1 and 0
// (data/labels.h).
bool by_convention(const Job& job, std::vector<std::string> classes) {
  using Pair = std::vector<std::string>;
  std::sort(classes.begin(), classes.end());
  return job.objective.task != glm::Task::kSoftmax && (classes == Pair{"-1", "1"} || classes == Pair{"0", "1"});
}

bool finds_columns(const Job& job, const data::Dataset& train) {
  return train.schema.format == data::Format::kLibsvm && !train.schema.features && !job.data.features;
}

bool finds_classes(const Job& job, const data::Dataset& train) {
  return job.objective.task != glm::Task::kLinear && !train.labels.values.empty() && listed_classes(job, train.schema).empty();
}

Result<void> check_schema(const Job& job, const data::Dataset& train) {
  const Party& party = job.parties.front();
  const std::string& place = party.schema.empty() ? party.data : party.schema;
  if (party.schema.empty() && train.schema.format != data::Format::kLibsvm)
    return fail(bad_input({place, 0, ""},
                          "a private run needs a schema for this table: without one the types of its columns are found in the data"));
  for (const data::ColumnSchema& column : train.schema.columns) {
    if (column.type == data::ColumnType::kIgnore || column.type == data::ColumnType::kId) continue;
    if (!column.confirmed)
      return fail(bad_input({place, 0, column.name},
                            "what is known of this column was found in the data; a private run needs a schema "
                            "that a person has confirmed (confirmed = true)"));
    if (column.missing == data::Missing::kDropRow)
      return fail(bad_input({place, 0, column.name},
                            "missing = \"drop-row\" lets the data decide the number of records, which is public in a "
                            "private run; use \"zero\", a number or \"level\""));
  }
  if (!train.schema.confirmed)
    return fail(bad_input({place, 0, "table"},
                          "its bounds were found in the data; a private run needs bounds that a person has confirmed "
                          "(confirmed = true)"));
  if (finds_columns(job, train))
    return fail(bad_input({job.file, 0, "data.features"},
                          "is missing: how many columns there are would be found in the data; state it, or features in the schema"));
  if (finds_classes(job, train) && !by_convention(job, train.labels.classes))
    return fail(classes_are_missing(job));
  return {};
}

// n itself, or what the job states where the relation hides it. That n is within the grids' margin is checked there.
Result<std::size_t> public_records(const Job& job, std::size_t rows) {
  if (job.privacy->unit == privacy::Unit::kClient) return static_cast<std::size_t>(job.privacy->records.value_or(1));  // open_site
  const auto stated = job.parties.front().records ? job.parties.front().records : job.privacy->records;
  if (job.privacy->neighbours == privacy::Neighbours::kAddRemove) {
    if (!stated) return fail(bad_input({job.file, 0, "privacy.records"}, "add-remove hides the number of records: state a public one"));
    return static_cast<std::size_t>(*stated);
  }
  if (stated && static_cast<std::size_t>(*stated) != rows)
    return fail(bad_input({job.file, 0, "privacy.records"},
                          fmt::format("replace-one makes the number of training records public: leave the key out or give {}", rows),
                          fmt::format("{}", *stated)));
  return rows;
}

Result<PublicFacts> public_facts(const Job& job, const data::Dataset& train, const linalg::Matrix& features) {
  PARLEY_CHECK(check_schema(job, train));
  const Party& party = job.parties.front();
  PublicFacts facts;
  PARLEY_TRY(facts.records, public_records(job, train.rows()));
  const auto columns = static_cast<std::size_t>(features.cols());
  double squares = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    const double bound = train.bounds.empty() ? data::kUnbounded : train.bounds[j];
    if (!(bound > 0) || !std::isfinite(bound))
      return fail(bad_input({party.schema.empty() ? party.data : party.schema, 0, train.columns[j]},
                            "has no public bound; a private run needs one: lower and upper in the schema, or data.bound in the job"));
    // Scaled by its bound, or a part of a row of length 1.
    facts.column_bounds.push_back(job.data.scale == Scale::kBounds || job.data.unit_rows ? 1.0 : bound);
    squares += facts.column_bounds.back() * facts.column_bounds.back();
  }
  facts.row_bound = job.data.unit_rows ? 1.0 : std::sqrt(squares);
  facts.label_bound = public_label_bound(job, train);
  if (!std::isfinite(facts.label_bound))
    return fail(bad_input({job.file, 0, "data.label_bound"}, "a private run needs a public bound of the label, here or in the schema"));
  return facts;
}

std::optional<std::size_t> stated_count(const PrivacySection& section, const PublicFacts& facts) {
  return section.neighbours == privacy::Neighbours::kAddRemove ? std::optional(facts.records) : std::nullopt;
}

std::string hexadecimal(std::uint64_t number) {
  return fmt::format("{:016x}", number);
}

}  // namespace

Result<std::vector<std::string>> public_classes(const Job& job, const data::Dataset& train) {
  data::RawLabels one_of_each{{}, listed_classes(job, train.schema)};
  const std::vector<std::string>& names = one_of_each.names;
  if (names.empty()) return train.labels.classes;  // those of the convention; check_schema refuses others
  data::LabelRules rules{.kind = label_kind(job.objective.task), .place = {job.file, 0, "labels.classes"}};
  if (job.objective.task == glm::Task::kSoftmax)
    rules.classes = names;
  else if (!job.labels.positive.empty())
    rules.positive = {job.labels.positive};
  else if (names.size() == 2)
    rules.positive = {names[1]};
  for (std::size_t k = 0; k < names.size(); ++k) one_of_each.values.push_back(static_cast<double>(k));
  PARLEY_TRY(data::LabelsAndNotes made, data::make_labels(std::move(one_of_each), rules));
  return std::move(made.labels.classes);
}

Error classes_are_missing(const Job& job) {
  return bad_input({job.file, 0, "labels.classes"},
                   "is missing: which classes there are would be found in the data; list them, or the label's levels in the schema");
}

Covered covered_by(const Job& job) {
  return job.keep_parts ? Covered::kMessages : Covered::kModel;
}

privacy::Holding holding_of(const Job& job) {
  return job.federation ? job.federation->holding() : privacy::Holding::kDisjointRecords;
}

bool hides_count(const Job& job) {
  return job.privacy && (job.privacy->neighbours == privacy::Neighbours::kAddRemove || job.privacy->unit == privacy::Unit::kClient);
}

void stamp(const PrivacyReport& report, Provenance& provenance) {
  provenance.privacy = report.statement;
  provenance.claimed = report.claimed;
  provenance.covered = report.claimed && report.covered == Covered::kModel;
}

std::string statement_of(const PrivacyReport& report, std::optional<std::int64_t> seed) {
  std::string text = fmt::format("(epsilon {}, delta {}) differential privacy for one {}, {} neighbours, against {}. {}",
                                 privacy::rounded_up(report.epsilon, 4), privacy::rounded_up(report.delta, 3), privacy::name(report.unit),
                                 privacy::name(report.neighbours), against_whom(report),
                                 privacy::in_words(report.epsilon, report.delta, report.neighbours, report.unit));
  if (report.neighbours == privacy::Neighbours::kAddRemove)
    text +=
        " How many records there are is covered too: the number that the job states stands for it, and tables of up to four times as many "
        "are meant.";
  if (report.unit == privacy::Unit::kClient)
    text +=
        " It holds against the coordinator and any one other client together, computationally: parts of a sum are masked. It trusts the "
        "clients to add their noise, and the coordinator to hand on their keys as they are.";
  if (report.calibration == algorithms::Calibration::kPaper)
    text += " The noise follows the paper's formula; the numbers here are what is proved of it.";
  const bool model = report.covered == Covered::kModel;
  if (report.holding == privacy::Holding::kSameRecords)
    text += " Each party has a part of every record and charges for its own part; the costs of the parties of a record add up.";
  text += !model ? " What a party sends is covered, and whatever the others make of it. " + std::string(kPartNotCovered)
          : report.holding == privacy::Holding::kSameRecords
              ? " The model is covered: each party released its part of it once, with noise."
              : " The model is covered.";
  text += " Objective, metrics, notes and times are computed from the data itself and are for its holder only.";
  if (report.claimed) return text;
  return fmt::format(
             "Simulation, no privacy is claimed: the noise came from seed {} and can be repeated. With noise from the operating "
             "system {} would have ",
             seed.value_or(0), model ? "the model" : "what is sent") +
         text;
}

void judge_noise(PrivacyReport& report, const privacy::Plan& plan, double epsilon, std::size_t records) {
  const char* many = report.unit == privacy::Unit::kClient ? "clients" : "records";
  for (const privacy::Event& event : plan.events)
    report.noise_to_signal = std::max(report.noise_to_signal, noise_to_signal(event.mechanism, records, report.neighbours));
  if (report.noise_to_signal > kLoud)
    report.notes.push_back(
        fmt::format("epsilon {} is small for {} {}: the noise of a release is {:.2g} times the largest signal that any data "
                    "could have; expect a model that says little",
                    epsilon, with_commas(static_cast<long long>(records)), many, report.noise_to_signal));
}

double default_derivative_bound(glm::Task task, double label_bound) {
  switch (task) {
    case glm::Task::kLinear:
      return label_bound;  // |m - y| at m = 0
    case glm::Task::kSquaredHinge:
      return 2;  // 2 max(0, 1 - ym) at m = 0
    case glm::Task::kLogistic:
    case glm::Task::kSoftmax:
      return 1;
  }
  return 1;
}

double noise_to_signal(const privacy::Mechanism& mechanism, std::size_t records, privacy::Neighbours neighbours) {
  // The largest signal is what n records contribute together, in sensitivities.
  const double signal = static_cast<double>(records) / (neighbours == privacy::Neighbours::kReplaceOne ? 2 : 1);
  if (const auto* selection = std::get_if<privacy::Exponential>(&mechanism)) return 2 / selection->epsilon / signal;
  if (const auto* selection = std::get_if<privacy::Pure>(&mechanism)) return 2 / selection->epsilon / signal;
  if (const auto* value = std::get_if<privacy::Gaussian>(&mechanism)) return value->sigma / value->sensitivity / signal;
  if (const auto* value = std::get_if<privacy::DiscreteGaussian>(&mechanism)) return value->sigma / value->sensitivity / signal;
  if (const auto* value = std::get_if<privacy::DiscreteLaplace>(&mechanism))
    return std::sqrt(2.0) * value->scale / value->sensitivity / signal;
  if (const auto* batch = std::get_if<privacy::SubsampledGaussian>(&mechanism))
    return batch->noise_multiplier / (batch->sampling_rate * static_cast<double>(records));
  return 0;
}

PrivateSite::~PrivateSite() = default;

Result<std::unique_ptr<PrivateSite>> PrivateSite::open(const Job& job, const data::Dataset& train, const linalg::Matrix& features,
                                                       const glm::Objective& objective, Purpose purpose, const PaidRun& run) {
  PARLEY_TRY(PublicFacts facts, public_facts(job, train, features));
  PARLEY_TRY(privacy::GridFeatures grid, privacy::GridFeatures::make(features, facts.column_bounds, stated_count(*job.privacy, facts)));
  std::unique_ptr<PrivateSite> site(new PrivateSite(std::move(facts), std::move(grid)));
  site->section_ = *job.privacy;
  site->covered_ = covered_by(job);
  site->holding_ = holding_of(job);
  const PrivacySection& section = site->section_;
  const auto n = static_cast<double>(site->facts_.records);
  PARLEY_TRY(const Epsilon epsilon, Epsilon::make(section.epsilon));
  PARLEY_TRY(const Delta delta, Delta::make(section.delta.value_or(1 / (n * n))));
  if (!section.delta)
    site->notes_.push_back(fmt::format("privacy.delta was not given: 1/n^2 = {} for n = {}", privacy::rounded_up(delta.value(), 4),
                                       with_commas(static_cast<long long>(site->facts_.records))));
  if (finds_classes(job, train))
    site->notes_.push_back(fmt::format("labels.classes was not given: that labels are {} and {} is a convention, and is taken as public",
                                       train.labels.classes[0], train.labels.classes[1]));
  site->seed_ = job.seed;
  site->purse_ = {job.parties.front().name, section.unit, section.neighbours};
  PARLEY_TRY(auto secure, privacy::SecureGenerator::from_system());
  site->run_ = run.name.empty() ? job.name + "-" + hexadecimal(secure->next_u64()) : run.name;
  site->resumed_ = run.kept.has_value();
  if (job.seed)
    site->bits_ = std::make_unique<privacy::SeededGenerator>(static_cast<std::uint64_t>(*job.seed));
  else
    site->bits_ = std::move(secure);
  if (purpose == Purpose::kRehearsal) {
    site->gate_ = std::make_unique<Gate>(Gate::rehearsal(site->purse_));
  } else {
    PARLEY_CHECK(site->open_ledger(run, {epsilon, delta, privacy::Composition::kPlans}));
    PARLEY_TRY(Gate gate, run.kept
                              ? Gate::resume(*site->ledger_, site->purse_, site->run_, *site->bits_, *run.kept, privacy::AnswersAreMarked{})
                              : Gate::open(*site->ledger_, site->purse_, site->run_, *site->bits_));
    site->gate_ = std::make_unique<Gate>(std::move(gate));
    if (section.calibration == algorithms::Calibration::kPaper) site->gate_->cover_cost();
    if (site->wanted_) site->gate_->budget_if_none(*site->wanted_);
  }
  site->terms_ = algorithms::PrivateTerms{
      .target = {epsilon, delta, section.neighbours},
      .unit = section.unit,
      .calibration = section.calibration,
      .smoothness = section.smoothness,
      .derivative_bound = section.derivative_bound.value_or(default_derivative_bound(objective.task, site->facts_.label_bound)),
      .row_bound = site->facts_.row_bound,
      .label_bound = site->facts_.label_bound,
      .features = &site->features_,
      .gate = site->gate_.get()};
  return site;
}

Result<void> PrivateSite::open_ledger(const PaidRun& run, const Budget& wanted) {
  PARLEY_TRY(ledger_, privacy::Ledger::open(section_.ledger, run.seen));
  PARLEY_CHECK(check_other_purses());
  if (run.cap == PaidRun::Cap::kOfSite) {
    PARLEY_TRY(const privacy::Spent spent, ledger_->spent(purse_));
    if (!run.budget || run.budget == spent.budget) return {};
    return ledger_->set_budget(purse_, *run.budget);
  }
  // A reproduction of a paper finds out what it costs when it plans (Gate::cover_cost).
  if (section_.calibration == algorithms::Calibration::kPaper) return {};
  wanted_ = wanted;  // set when everything was looked at and the run is charged: a job that is refused sets none
  return {};
}

// Costs for two units or under two relations do not add up. Neither a job nor another word in SITE.toml gives charged data a
// second budget by itself: a person sets it in the ledger, and then knows that there are two.
Result<void> PrivateSite::check_other_purses() {
  PARLEY_TRY(const std::vector<privacy::Spent> purses, ledger_->purses());
  for (const privacy::Spent& spent : purses)
    if (spent.purse == purse_ && spent.budget) return {};
  for (const privacy::Spent& spent : purses)
    if (spent.purse.data_set == purse_.data_set && spent.charges > 0)
      return fail(
          Error{Fault::kBudgetEnded,
                fmt::format("data set '{}' was charged for one {} under {} neighbours before, and costs for one {} under {} are not "
                            "counted there; parley ledger budget {} --data-set {} --unit {} --neighbours {} sets a budget of their own",
                            printable(purse_.data_set), privacy::name(spent.purse.unit), privacy::name(spent.purse.neighbours),
                            privacy::name(purse_.unit), privacy::name(purse_.neighbours), section_.ledger, printable(purse_.data_set),
                            privacy::name(purse_.unit), privacy::name(purse_.neighbours))});
  return {};
}

Result<privacy::PlanRequest> PrivateSite::rehearse(const Reserve& reserve) const {
  Gate rehearsal = Gate::rehearsal(purse_);
  const auto ended = reserve(rehearsal);
  if (rehearsal.requests().empty())
    return fail(ended ? failed("the run would release nothing: there is nothing to charge") : ended.error());
  privacy::PlanRequest request = rehearsal.requests().front();
  request.run = run_;
  return request;
}

Result<void> PrivateSite::expect(const Reserve& reserve) {
  PARLEY_TRY(const privacy::PlanRequest request, rehearse(reserve));
  // What was charged before the site was started again stands.
  PARLEY_TRY(const std::optional<privacy::PaidPlan> paid, ledger_->paid_plan(purse_, run_, request.key));
  if (!paid && gate_->progress().plans > 0)
    return fail(failed(fmt::format("run '{}' drew from a plan that this ledger does not hold; it cannot go on", printable(run_))));
  privacy::PlanReceipt receipt;
  if (paid) {
    receipt = paid->receipt;
  } else {
    if (wanted_) {
      PARLEY_TRY(set_budget_, ledger_->set_budget_if_none(purse_, *wanted_));
    }
    PARLEY_TRY(receipt, ledger_->quote(purse_, request));
  }
  expected_ = {request.plan(purse_.neighbours, receipt.steps), receipt.epsilon, receipt.delta};
  gate_->promise(receipt.steps);
  return {};
}

Result<void> PrivateSite::leaving(std::int64_t round, std::string_view answer) {
  if (!resumed_ && round == 0) {
    PARLEY_TRY(const bool known, ledger_->knows(purse_, run_));
    if (known)
      return fail(failed(fmt::format(
          "run '{}' was charged here before, and what was kept of it is gone; it cannot go on without releasing anew", printable(run_))));
  }
  return ledger_->mark_answer(purse_, run_, round, answer);
}

Result<PrivacyReport> PrivateSite::report() {
  PrivacyReport report{.budget = {terms_->target.epsilon, terms_->target.delta, privacy::Composition::kPlans}};
  report.claimed = gate_->claims_valid();
  report.unit = section_.unit;
  report.neighbours = section_.neighbours;
  report.against = section_.against;
  report.covered = covered_;
  report.holding = holding_;
  report.calibration = section_.calibration;
  report.releases = gate_->releases();
  report.records = facts_.records;
  report.derivative_bound = terms_->derivative_bound;
  report.ledger = section_.ledger;
  report.notes = notes_;
  if (set_budget_ || gate_->set_budget())
    report.notes.push_back(
        fmt::format("no budget was set for '{}' in {}: it is the job's, epsilon {} and delta {}, over all runs; "
                    "parley ledger budget sets another",
                    printable(purse_.data_set), section_.ledger, wanted_->epsilon.value(), wanted_->delta.value()));
  report.accountant = privacy::name(privacy::Accountant::kBasic);
  for (const privacy::PlanReceipt& receipt : gate_->receipts()) {
    report.epsilon += receipt.epsilon;
    report.delta += receipt.delta;
  }
  report.plan = gate_->charged();
  // A site that was started again after its last draw has drawn nothing since: what was charged before stands.
  const bool charged_before = gate_->receipts().empty() && gate_->progress().plans > 0;
  if (charged_before) {
    report.epsilon = expected_.epsilon;
    report.delta = expected_.delta;
    report.plan = expected_.plan;
  }
  // One plan has the accountant that was best for it; several plans are sums.
  if (gate_->receipts().size() == 1 || charged_before) {
    PARLEY_TRY(const privacy::Account account, privacy::account_at_delta(report.plan, terms_->target.delta));
    report.accountant = privacy::name(account.chosen);
  }
  judge_noise(report, report.plan, section_.epsilon, facts_.records);
  if (ledger_) {
    PARLEY_TRY(const privacy::Spent spent, ledger_->spent(purse_));
    if (spent.budget) report.budget = *spent.budget;
    report.spent_epsilon = spent.epsilon;
    report.spent_delta = spent.delta;
  }
  report.statement = statement_of(report, seed_);
  return report;
}

}  // namespace parley::catalog
