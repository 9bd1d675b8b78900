#include "parley/catalog/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parley/catalog/party_table.h"
#include "parley/catalog/run_federation.h"
#include "parley/catalog/scaling.h"
#include "parley/catalog/stopwatch.h"
#include "parley/catalog/tune.h"
#include "parley/core/text.h"
#include "parley/core/version.h"
#include "parley/data/holdout.h"
#include "parley/data/load.h"

namespace parley::catalog {

namespace {

// Whether the classes of the model are those that the job or the schema lists, also those that no row has.
bool lists_classes(const Job& job) {
  return job.objective.task != glm::Task::kLinear && (job.privacy || !job.labels.classes.empty());
}

Result<data::LoadOptions> reading_options(const Job& job, const Party& party) {
  PARLEY_TRY(data::LoadOptions options, reading_of(job, party));
  options.labels = label_kind(job.objective.task);
  if (!job.labels.positive.empty()) options.positive = {job.labels.positive};
  options.classes = job.labels.classes;
  options.absent_classes = lists_classes(job);
  return options;
}

Result<Tables> read_tables(const Job& job) {
  const Party& party = job.parties.front();
  PARLEY_TRY(const data::LoadOptions options, reading_options(job, party));
  Tables tables;
  PARLEY_TRY(tables.train, data::load(party.data, options));
  if (lists_classes(job)) {
    PARLEY_TRY(tables.train.labels.classes, public_classes(job, tables.train));
  }
  if (!party.test.empty()) {
    data::LoadOptions alike = data::options_like(tables.train, options);
    alike.id_may_lack = true;
    PARLEY_TRY(tables.test, data::load(party.test, alike));
    for (const std::string& note : tables.test->notes) tables.train.notes.push_back("test file: " + note);
  } else if (job.data.test_fraction && *job.data.test_fraction > 0) {
    // Without a seed the held-out rows are still the same in every run: the split is not a secret.
    PARLEY_TRY(data::TrainTest split,
               data::hold_out(tables.train, *job.data.test_fraction, static_cast<std::uint64_t>(job.seed.value_or(0))));
    tables.train = std::move(split.train);
    tables.test = std::move(split.test);
  }
  return tables;
}

Result<void> check_trainable(const Job& job, const data::Dataset& train) {
  const std::string& file = job.parties.front().data;
  if (train.rows() < 2) return fail(bad_input({file, 0, ""}, "training needs at least two rows", fmt::format("{} left", train.rows())));
  if (train.features.cols() == 0) return fail(bad_input({file, 0, ""}, "holds no feature column"));
  // In a private run a single record must not decide whether there is a model.
  if (job.objective.task == glm::Task::kLinear || job.privacy) return {};
  const double first = train.labels.values.front();
  for (const double label : train.labels.values)
    if (label != first) return {};
  return fail(bad_input({file, 0, train.schema.format == data::Format::kLibsvm ? "label" : job.labels.column},
                        "the training rows hold one class only; a classifier needs two"));
}

// Training and validation rows for tuning: a function of the row numbers alone.
struct Split {
  data::Dataset train, validation;
  linalg::Matrix features, validation_features;
};

Result<Split> validation_split(const Job& job, const SiteData& data) {
  const auto seed = static_cast<std::uint64_t>(job.seed.value_or(0)) + 1;  // not the rows that a test split would take
  PARLEY_TRY(const data::Holdout rows, data::hold_out(data.tables.train.rows(), job.tune->validation, seed));
  return Split{data.tables.train.select_rows(rows.train), data.tables.train.select_rows(rows.test), data.features.select_rows(rows.train),
               data.features.select_rows(rows.test)};
}

}  // namespace

Result<SiteData> read_site(const Job& job) {
  SiteData site;
  PARLEY_TRY(site.tables, read_tables(job));
  const data::Dataset& train = site.tables.train;
  PARLEY_CHECK(check_trainable(job, train));
  PARLEY_CHECK(choose_scaling(job.data, train, site.scaling));
  PARLEY_TRY(site.features, scaled_features(site.scaling, train.features));
  site.objective = job.objective;
  site.objective.classes = job.objective.task == glm::Task::kSoftmax ? static_cast<int>(train.labels.classes.size()) : 1;
  return site;
}

Result<Scored> score(const Trained& trained, const data::Dataset& table) {
  PARLEY_TRY(const std::vector<double> margins, trained.model.margins(table.features));
  return Scored{table.rows(), glm::measure(trained.model.task, margins, table.labels.values)};
}

Error stopped_early() {
  return failed("interrupted before the first iteration; nothing was written");
}

namespace {

Result<Outcome> run_single(const Job& job, const Watch& watch) {
  Outcome outcome;
  if (watch.phase) watch.phase("reading " + job.parties.front().data);
  const Stopwatch reading;
  PARLEY_TRY(SiteData data, read_site(job));
  const Tables& tables = data.tables;
  glm::Objective objective = data.objective;
  std::string algorithm = job.algorithm;
  outcome.notes = tables.train.notes;
  Trained& trained = outcome.trained;
  trained.model = std::move(data.scaling);
  outcome.read_seconds = reading.seconds();
  if (watch.stop && watch.stop()) return fail(stopped_early());
  if (watch.phase) watch.phase("training");
  const Stopwatch training;
  std::unique_ptr<PrivateSite> site;
  if (job.privacy) {
    std::optional<Split> split;
    privacy::Plan won;  // of tuned runs
    std::vector<std::string> chosen;
    double run_epsilon = 0;
    if (job.tune) {
      PARLEY_TRY(split, validation_split(job, data));
    }
    const data::Dataset& table = split ? split->train : tables.train;
    PARLEY_TRY(site, PrivateSite::open(job, table, split ? split->features : data.features, objective));
    if (split) {
      PARLEY_TRY(std::vector<Trial> trials, trials_of(job, objective.classes));
      PARLEY_TRY(Tuned tuned, tune(job, std::move(trials), *site,
                                   {table.labels.values, split->validation_features, split->validation.labels.values}, watch.observer));
      outcome.fit = std::move(tuned.fit);
      objective = tuned.trial.objective;
      algorithm = tuned.trial.algorithm;
      won = tuned.run_plan;
      chosen = tuned.trial.settings;
      run_epsilon = tuned.run_epsilon;
      outcome.notes.push_back(fmt::format("chosen by private tuning: {}; each run had epsilon {:.4g}",
                                          fmt::join(tuned.trial.settings, ", "), tuned.run_epsilon));
    } else {
      PARLEY_TRY(outcome.fit, job.trainer({site->features(), table.labels.values, objective, &site->terms()}, watch.observer));
    }
    PARLEY_TRY(outcome.privacy, site->report());
    if (split) {
      outcome.privacy->releases = outcome.fit.releases;  // of the run that won; the others were never released
      outcome.privacy->chosen = chosen;
      outcome.privacy->run_epsilon = run_epsilon;
      judge_noise(*outcome.privacy, won, job.privacy->epsilon, site->facts().records);
    }
    outcome.notes.insert(outcome.notes.end(), outcome.privacy->notes.begin(), outcome.privacy->notes.end());
  } else {
    PARLEY_TRY(outcome.fit, job.trainer({data.features, tables.train.labels.values, objective}, watch.observer));
  }
  if (!job.privacy && outcome.fit.stop == algorithms::Stop::kInterrupted && outcome.fit.iterations == 0) return fail(stopped_early());
  outcome.train_seconds = training.seconds();

  glm::Model& model = trained.model;
  model.task = objective.task;
  model.weights = outcome.fit.weights;
  model.intercepts = outcome.fit.intercepts;
  model.columns = tables.train.columns.list();
  model.bounds = tables.train.bounds;
  model.classes = tables.train.labels.classes;
  trained.objective = objective;
  trained.columns = tables.train.columns;
  trained.schema = tables.train.schema;
  trained.label = job.labels.column;
  trained.provenance = {job.name,
                        algorithm,
                        kVersion,
                        job.seed,
                        hides_count(job) ? site->facts().records : tables.train.rows(),
                        kNotPrivate};
  if (outcome.privacy) stamp(*outcome.privacy, trained.provenance);

  PARLEY_TRY(outcome.train, score(trained, tables.train));
  if (tables.test) {
    PARLEY_TRY(outcome.test, score(trained, *tables.test));
  }
  return outcome;
}

}  // namespace

Result<Outcome> run(const Job& job, const Watch& watch) {
  auto outcome = job.federation ? run_federation(job, watch) : run_single(job, watch);
  if (!outcome) return fail(in_job(job, std::move(outcome).error()));
  return outcome;
}

}  // namespace parley::catalog
