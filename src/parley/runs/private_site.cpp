#include "parley/runs/private_site.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/algorithms/vertical/label_release.h"
#include "parley/catalog/classes.h"
#include "parley/catalog/federation.h"
#include "parley/core/text.h"
#include "parley/data/labels.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/accounting/statement.h"

namespace parley::runs {

using privacy::Budget;
using privacy::Delta;
using privacy::Epsilon;
using privacy::Gate;

namespace {

double public_label_bound(const jobs::Job& job, const data::Dataset& train) {
  if (job.objective.task != glm::Task::kLinear) return 1;
  for (const data::ColumnSchema& column : train.schema.columns)
    if (column.type == data::ColumnType::kLabel && column.bound()) return *column.bound();
  if (train.schema.label_bound) return *train.schema.label_bound;
  return job.data.label_bound.value_or(data::kUnbounded);
}

double middle_of_label(const jobs::Job& job, const data::Dataset& train) {
  if (job.objective.task != glm::Task::kLinear) return 0;
  for (const data::ColumnSchema& column : train.schema.columns)
    if (column.type == data::ColumnType::kLabel && column.bound() && *column.upper > *column.lower)
      return 0.5 * (*column.lower + *column.upper);
  return 0;
}

bool finds_columns(const jobs::Job& job, const data::Dataset& train) {
  return train.schema.format == data::Format::kLibsvm && !train.schema.features && !job.data.features;
}

Result<void> check_schema(const jobs::Job& job, const data::Dataset& train) {
  const jobs::PartySection& party = job.parties.front();
  const std::string& place = party.schema.empty() ? party.data : party.schema;
  if (party.schema.empty() && train.schema.format != data::Format::kLibsvm && !train.columns_are_stated)
    return fail(bad_input(
        {place, 0, ""},
        "a private run needs a schema for this table: without one the types of its columns are found in the data"));
  const bool labels_alone = !protects_records(job);
  for (const data::ColumnSchema& column : train.schema.columns) {
    if (column.type == data::ColumnType::kIgnore || column.type == data::ColumnType::kId) continue;
    if (labels_alone && column.type != data::ColumnType::kLabel) continue;
    if (!column.confirmed)
      return fail(bad_input({place, 0, column.name},
                            "what is known of this column was found in the data; a private run needs a schema "
                            "that a person has confirmed (confirmed = true)"));
    if (column.missing == data::Missing::kDropRow)
      return fail(bad_input({place, 0, column.name},
                            "missing = \"drop-row\" lets the data decide the number of records, which is public in a "
                            "private run; use \"zero\", a number or \"level\""));
  }
  if (!train.schema.confirmed && !labels_alone)
    return fail(bad_input({place, 0, "table"},
                          "its bounds were found in the data; a private run needs bounds that a person has confirmed "
                          "(confirmed = true)"));
  if (finds_columns(job, train) && !labels_alone)
    return fail(bad_input(
        {job.file, 0, "data.features"},
        "is missing: how many columns there are would be found in the data; state it, or features in the schema"));
  if (catalog::finds_classes(job, train) && !catalog::by_convention(job, train.labels.classes))
    return fail(catalog::classes_are_missing(job));
  return {};
}

// n itself, or what the job states where the relation hides it. That n is within the grids' margin is checked there.
Result<std::size_t> public_records(const jobs::Job& job, std::size_t rows) {
  // Clients, or the units of a join: counted by open_site(), PrivateJoin.
  if (job.privacy->unit == privacy::Unit::kClient || (!job.tables.empty() && job.privacy->records))
    return static_cast<std::size_t>(job.privacy->records.value_or(1));
  const auto stated = job.parties.front().records ? job.parties.front().records : job.privacy->records;
  if (job.privacy->neighbours == privacy::Neighbours::kAddRemove) {
    if (!stated)
      return fail(
          bad_input({job.file, 0, "privacy.records"}, "add-remove hides the number of records: state a public one"));
    return static_cast<std::size_t>(*stated);
  }
  if (stated && static_cast<std::size_t>(*stated) != rows)
    return fail(bad_input(
        {job.file, 0, "privacy.records"},
        fmt::format("replace-one makes the number of training records public: leave the key out or give {}", rows),
        fmt::format("{}", *stated)));
  return rows;
}

std::optional<std::size_t> stated_count(const jobs::PrivacySection& section, const PublicFacts& facts) {
  return section.neighbours == privacy::Neighbours::kAddRemove ? std::optional(facts.records) : std::nullopt;
}

// An entity's data set is TABLE.COLUMN, whose tuples are those of TABLE. Names may have dots of their own: what could be
// the same table is taken for it.
bool may_share_data(const privacy::Purse& one, const privacy::Purse& other) {
  const auto first_name = [](const privacy::Purse& purse) {
    return purse.data_set.substr(0, purse.data_set.find('.'));
  };
  const bool entities = one.unit == privacy::Unit::kEntity || other.unit == privacy::Unit::kEntity;
  return one.data_set == other.data_set || (entities && first_name(one) == first_name(other));
}

std::string hexadecimal(std::uint64_t number) {
  return fmt::format("{:016x}", number);
}

// What the schema says of feature columns, where it names each: a category is one 1 in all its columns, so that it counts
// once in a row's square.
struct SaidOfRows {
  double squares = 0;
  std::vector<std::size_t> numbers;
};
std::optional<SaidOfRows> said_of_rows(const data::Dataset& train) {
  SaidOfRows said;
  std::size_t at = 0;
  for (const data::ColumnSchema& column : train.schema.columns) {
    const bool number = column.type == data::ColumnType::kNumber || column.type == data::ColumnType::kInteger ||
                        column.type == data::ColumnType::kDate;
    if (number) {
      if (at >= train.columns.size() || train.columns[at] != column.name) return std::nullopt;
      said.numbers.push_back(at++);
    } else if (column.type == data::ColumnType::kCategory) {
      while (at < train.columns.size() && train.columns[at].starts_with(column.name + "=")) ++at;
    } else if (column.type == data::ColumnType::kBoolean) {
      if (at >= train.columns.size() || train.columns[at] != column.name) return std::nullopt;
      ++at;
    } else {
      continue;
    }
    said.squares += 1;
  }
  if (at != train.columns.size()) return std::nullopt;
  return said;
}

}  // namespace

Result<PublicFacts> public_facts(const jobs::Job& job, const data::Dataset& train, const linalg::Matrix& features) {
  PARLEY_CHECK(check_schema(job, train));
  const jobs::PartySection& party = job.parties.front();
  PublicFacts facts;
  PARLEY_TRY(facts.records, public_records(job, train.rows()));
  const auto columns = protects_records(job) ? static_cast<std::size_t>(features.cols()) : 0;
  double squares = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    const double bound = train.bounds.empty() ? data::kUnbounded : train.bounds[j];
    if (!(bound > 0) || !std::isfinite(bound))
      return fail(bad_input(
          {party.schema.empty() ? party.data : party.schema, 0, train.columns[j]},
          "has no public bound; a private run needs one: lower and upper in the schema, or data.bound in the job"));
    // Scaled by its bound, or a part of a row of length 1.
    facts.column_bounds.push_back(job.data.scale == jobs::Scale::kBounds || job.data.unit_rows ? 1.0 : bound);
    squares += facts.column_bounds.back() * facts.column_bounds.back();
  }
  facts.row_bound = job.data.unit_rows ? 1.0 : std::sqrt(squares);
  if (!job.data.unit_rows && job.data.scale == jobs::Scale::kBounds && columns > 0) {
    const std::optional<SaidOfRows> said = said_of_rows(train);
    facts.finds_row_norm = !said;
    if (said) facts.row_bound = std::sqrt(said->squares);
    if (said) facts.numbers = said->numbers;
  }
  if (!job.tables.empty() && train.labels.values.empty()) return facts;  // another table's
  facts.label_bound = public_label_bound(job, train);
  if (!std::isfinite(facts.label_bound))
    return fail(bad_input({job.file, 0, "data.label_bound"},
                          "a private run needs a public bound of the label, here or in the schema"));
  return facts;
}

double default_derivative_bound(glm::Task task, double label_bound) {
  switch (task) {
    case glm::Task::kPoisson:  // refused before
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

PrivateSite::~PrivateSite() = default;

Result<std::unique_ptr<PrivateSite>> PrivateSite::open(const jobs::Job& job, const data::Dataset& train,
                                                       const linalg::Matrix& features, const glm::Objective& objective,
                                                       Purpose purpose, const PaidRun& run) {
  PARLEY_TRY(PublicFacts facts, public_facts(job, train, features));
  // Where labels alone are protected, features stay as they are and no number of theirs is needed here.
  const linalg::Matrix none = linalg::Matrix::from_dense(features.rows(), 0, {});
  PARLEY_TRY(privacy::GridFeatures grid,
             privacy::GridFeatures::make(protects_records(job) ? features : none, facts.column_bounds,
                                         stated_count(*job.privacy, facts)));
  std::unique_ptr<PrivateSite> site(new PrivateSite(std::move(facts), std::move(grid)));
  site->section_ = *job.privacy;
  site->covered_ = covered_by(job);
  site->holding_ = catalog::holding_of(job);
  site->found_in_common_ = job.secure.align != jobs::SecureSection::Align::kGiven;
  const jobs::PrivacySection& section = site->section_;
  const auto n = static_cast<double>(site->facts_.records);
  PARLEY_TRY(const Epsilon epsilon, Epsilon::make(section.epsilon));
  PARLEY_TRY(const Delta delta, Delta::make(section.delta.value_or(1 / (n * n))));
  if (!section.delta)
    site->notes_.push_back(fmt::format("privacy.delta was not given: 1/n^2 = {} for n = {}",
                                       privacy::rounded_up(delta.value(), 4),
                                       with_commas(static_cast<long long>(site->facts_.records))));
  if (catalog::finds_classes(job, train))
    site->notes_.push_back(
        fmt::format("labels.classes was not given: that labels are {} and {} is a convention, and is taken as public",
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
    PARLEY_TRY(Gate gate, run.kept ? Gate::resume(*site->ledger_, site->purse_, site->run_, *site->bits_, *run.kept,
                                                  privacy::AnswersAreMarked{})
                                   : Gate::open(*site->ledger_, site->purse_, site->run_, *site->bits_));
    site->gate_ = std::make_unique<Gate>(std::move(gate));
    if (section.calibration == privacy::Calibration::kPaper) site->gate_->cover_cost();
    if (site->wanted_) site->gate_->budget_if_none(*site->wanted_);
  }
  // What is left of the run's epsilon when labels have left with theirs.
  const double of_labels = protects_records(job) && job.labels.noise ? job.labels.noise->epsilon : 0;
  PARLEY_TRY(const Epsilon left, Epsilon::make(section.epsilon - of_labels));
  double derivative_bound = default_derivative_bound(objective.task, site->facts_.label_bound);
  if (job.labels.noise)
    derivative_bound = algorithms::derivative_reach(
        {.noise = *job.labels.noise, .task = objective.task, .label_bound = site->facts_.label_bound},
        derivative_bound);
  site->terms_ = algorithms::PrivateTerms{.target = {left, delta, section.neighbours},
                                          .unit = section.unit,
                                          .calibration = section.calibration,
                                          .smoothness = section.smoothness,
                                          .derivative_bound = section.derivative_bound.value_or(derivative_bound),
                                          .row_bound = site->facts_.row_bound,
                                          .label_bound = site->facts_.label_bound,
                                          .label_middle = middle_of_label(job, train),
                                          .numbers = site->facts_.numbers,
                                          .finds_row_norm = site->facts_.finds_row_norm,
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
  if (section_.calibration == privacy::Calibration::kPaper) return {};
  wanted_ = wanted;  // set when everything was looked at and the run is charged: a job that is refused sets none
  return {};
}

// Costs for two units or under two relations do not add up. Neither a job nor another word in SITE.toml gives charged
// data a second budget by itself: a person sets it in the ledger, and then knows that there are two.
Result<void> PrivateSite::check_other_purses() {
  PARLEY_TRY(const std::vector<privacy::Spent> purses, ledger_->purses());
  for (const privacy::Spent& spent : purses)
    if (spent.purse == purse_ && spent.budget) return {};
  for (const privacy::Spent& spent : purses)
    if (may_share_data(spent.purse, purse_) && spent.charges > 0)
      return fail(Error{
          Fault::kBudgetEnded,
          fmt::format(
              "data set '{}' was charged for one {} under {} neighbours before, and costs for one {} under {} are not "
              "counted there; parley ledger budget {} --data-set {} --unit {} --neighbours {} sets a budget of their "
              "own",
              printable(spent.purse.data_set), privacy::name(spent.purse.unit), privacy::name(spent.purse.neighbours),
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
    return fail(failed(
        fmt::format("run '{}' drew from a plan that this ledger does not hold; it cannot go on", printable(run_))));
  privacy::PlanReceipt receipt;
  if (paid) {
    receipt = paid->receipt;
  } else {
    if (wanted_) {
      PARLEY_TRY(set_budget_, ledger_->set_budget_if_none(purse_, *wanted_));
    }
    PARLEY_TRY(receipt, ledger_->quote(purse_, request));
  }
  quote_ = {request.plan(purse_.neighbours, receipt.steps), receipt.epsilon, receipt.delta,
            request.steps - receipt.steps};
  gate_->promise(receipt.steps);
  return {};
}

Result<void> PrivateSite::leaving(std::int64_t round, std::string_view answer) {
  if (!resumed_ && round == 0) {
    PARLEY_TRY(const bool known, ledger_->knows(purse_, run_));
    if (known)
      return fail(failed(fmt::format(
          "run '{}' was charged here before, and what was kept of it is gone; it cannot go on without releasing anew",
          printable(run_))));
  }
  // An answer that nothing was drawn for may be made again.
  if (purse_.unit == privacy::Unit::kLabel) {
    if (gate_->releases() == marked_) return {};
    marked_ = gate_->releases();
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
  report.found_in_common = found_in_common_;
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
    report.epsilon = quote_.epsilon;
    report.delta = quote_.delta;
    report.plan = quote_.plan;
  }
  // One plan has the accountant that was best for it; several plans are sums.
  if (gate_->receipts().size() == 1 || charged_before) {
    PARLEY_TRY(const privacy::Account account, privacy::account_at_delta(report.plan, terms_->target.delta));
    report.accountant = privacy::name(account.chosen);
  }
  note_loudest_noise(report, report.plan, section_.epsilon, facts_.records);
  if (ledger_) {
    PARLEY_TRY(const privacy::Spent spent, ledger_->spent(purse_));
    if (spent.budget) report.budget = *spent.budget;
    report.spent_epsilon = spent.epsilon;
    report.spent_delta = spent.delta;
  }
  report.statement = statement_of(report, seed_);
  return report;
}

}  // namespace parley::runs
