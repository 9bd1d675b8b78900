#include "parley/runs/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <utility>

#include "parley/algorithms/horizontal/newton_sums.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/core/version.h"
#include "parley/data/holdout.h"
#include "parley/runs/private_site.h"
#include "parley/runs/run_joined.h"
#include "parley/runs/simulate.h"
#include "parley/runs/stopwatch.h"
#include "parley/runs/tune.h"

namespace parley::runs {

namespace {

using catalog::PartyTable;

// What was learnt on one site, by which algorithm and for which objective: those of the job, or of the run that won.
struct Trained {
  algorithms::Fit fit;
  glm::Objective objective;
  std::string algorithm;
  std::optional<PrivacyReport> privacy;
  std::size_t records = 0;  // public
  std::vector<std::string> notes;
};

Result<Trained> train_openly(const jobs::Job& job, const PartyTable& table, glm::Objective objective,
                             const Watch& watch) {
  Trained trained{.objective = objective, .algorithm = job.algorithm, .records = table.train.rows()};
  const std::vector<double> weights = catalog::weights_of(job, table.train);
  PARLEY_TRY(trained.fit,
             catalog::method_of(job).train({table.features, table.train.labels.values, objective, nullptr, weights},
                                           watch.observer));
  return trained;
}

Result<Trained> train_privately(const jobs::Job& job, const PartyTable& table, glm::Objective objective,
                                const Watch& watch) {
  PARLEY_TRY(const auto site, PrivateSite::open(job, table.train, table.features, objective));
  Trained trained{.objective = objective, .algorithm = job.algorithm, .records = site->facts().records};
  PARLEY_TRY(trained.fit,
             catalog::method_of(job).train({site->features(), table.train.labels.values, objective, &site->terms()},
                                           watch.observer));
  PARLEY_TRY(trained.privacy, site->report());
  trained.notes = trained.privacy->notes;
  return trained;
}

// Training and validation rows are a function of the row numbers alone.
Result<Trained> tune_privately(const jobs::Job& job, const PartyTable& table, glm::Objective objective,
                               const Watch& watch) {
  const auto seed = static_cast<std::uint64_t>(job.seed.value_or(0)) + 1;  // not the rows that a test split would take
  PARLEY_TRY(const data::Holdout rows, data::hold_out(table.train.rows(), job.tune->validation, seed));
  const data::Dataset train = table.train.select_rows(rows.train), validation = table.train.select_rows(rows.test);
  const linalg::Matrix validation_features = table.features.select_rows(rows.test);
  PARLEY_TRY(const auto site, PrivateSite::open(job, train, table.features.select_rows(rows.train), objective));
  PARLEY_TRY(std::vector<Trial> trials, trials_of(job, objective.classes));
  PARLEY_TRY(Tuned tuned, tune(job, std::move(trials), *site,
                               {train.labels.values, validation_features, validation.labels.values}, watch.observer));
  Trained trained{
      .objective = tuned.trial.objective, .algorithm = tuned.trial.algorithm, .records = site->facts().records};
  trained.notes.push_back(fmt::format("chosen by private tuning: {}; each run had epsilon {:.4g}",
                                      fmt::join(tuned.trial.settings, ", "), tuned.run_epsilon));
  PARLEY_TRY(PrivacyReport report, site->report());
  report.releases = tuned.fit.releases;  // of the run that won; the others were never released
  report.chosen = tuned.trial.settings;
  report.run_epsilon = tuned.run_epsilon;
  note_loudest_noise(report, tuned.run_plan, job.privacy->epsilon, site->facts().records);
  trained.notes.insert(trained.notes.end(), report.notes.begin(), report.notes.end());
  trained.privacy = std::move(report);
  trained.fit = std::move(tuned.fit);
  return trained;
}

// Of a fit that ended at an optimum.
algorithms::FinalCurvature end_of(const jobs::Job& job, const PartyTable& table, const algorithms::Fit& fit,
                                  const glm::Objective& objective) {
  const algorithms::RowShare share{.features = table.features,
                                   .labels = table.train.labels.values,
                                   .weights = catalog::weights_of(job, table.train)};
  std::vector<double> parameters = fit.weights;  // of one class
  parameters.insert(parameters.end(), fit.intercepts.begin(), fit.intercepts.end());
  const auto n = static_cast<double>(table.train.rows());
  const algorithms::NewtonSums there(objective, share, parameters);
  const algorithms::NewtonSums first(objective, share, std::vector<double>(parameters.size(), 0.0));
  algorithms::FinalCurvature end{
      .triangle = there.curvature(), .loss = there.loss() / n, .first_loss = first.loss() / n};
  for (double& entry : end.triangle) entry /= n;
  if (!fit.intercepts.empty()) end.first_slope = first.gradient().back() / n;
  return end;
}

Result<Outcome> run_alone(const jobs::Job& job, const catalog::PartySource& source, const Watch& watch) {
  if (watch.phase) watch.phase(Reading{source.train.name()});
  const Stopwatch reading;
  PARLEY_TRY(PartyTable table, catalog::read_alone(job, source));
  Outcome outcome;
  outcome.read_seconds = reading.seconds();
  outcome.notes = table.train.notes;
  if (watch.stop && watch.stop()) return fail(stopped_early());

  if (watch.phase) watch.phase(Training{});
  const Stopwatch training;
  const glm::Objective objective = catalog::objective_of(job, table.train.labels.classes);
  const auto train = !job.privacy ? train_openly : job.tune ? tune_privately : train_privately;
  PARLEY_TRY(Trained trained, train(job, table, objective, watch));
  if (!job.privacy && trained.fit.stop == algorithms::Stop::kInterrupted && trained.fit.iterations == 0)
    return fail(stopped_early());
  outcome.train_seconds = training.seconds();
  outcome.fit = std::move(trained.fit);
  outcome.privacy = std::move(trained.privacy);
  outcome.notes.insert(outcome.notes.end(), trained.notes.begin(), trained.notes.end());

  models::Trained& made = outcome.trained;
  made.model = std::move(table.scaling);
  made.model.task = trained.objective.task;
  made.model.weights = outcome.fit.weights;
  made.model.intercepts = outcome.fit.intercepts;
  made.model.columns = table.train.columns.list();
  made.model.bounds = table.train.bounds;
  made.model.classes = table.train.labels.classes;
  made.model.threshold = job.threshold;
  made.objective = trained.objective;
  made.columns = table.train.columns;
  made.schema = table.train.schema;
  made.label = job.labels.column;
  made.provenance = {.job = job.name,
                     .algorithm = trained.algorithm,
                     .version = kVersion,
                     .seed = job.seed,
                     .rows = jobs::hides_count(job) ? trained.records : table.train.rows(),
                     .privacy = models::kNotPrivate};
  if (outcome.privacy) stamp(*outcome.privacy, made.provenance);
  if (job.inference) {
    const algorithms::FinalCurvature end = end_of(job, table, outcome.fit, trained.objective);
    add_inference({made.model, end, table.train.rows(), !catalog::weights_of(job, table.train).empty()}, outcome);
  }
  PARLEY_TRY(outcome.train, models::score(made, table.train));
  if (table.test) {
    PARLEY_TRY(outcome.test, models::score(made, *table.test));
  }
  note_doubts(outcome);
  return outcome;
}

}  // namespace

Result<Outcome> run(const jobs::Job& job, const Watch& watch) {
  return run(job, catalog::files_of(job), watch);
}

Result<Outcome> run(const jobs::Job& job, const catalog::Sources& sources, const Watch& watch) {
  if (sources.size() != job.parties.size())
    return fail(bad_input({job.file, 0, "party"},
                          fmt::format("there are {} tables for {} parties", sources.size(), job.parties.size())));
  auto outcome = catalog::federation_of(job) != nullptr ? simulate(job, sources, watch)
                 : !job.tables.empty()                  ? run_joined(job, sources, watch)
                                                        : run_alone(job, sources.front(), watch);
  if (!outcome) return fail(jobs::in_job(job, std::move(outcome).error()));
  note_choice(job, *outcome);
  return outcome;
}

}  // namespace parley::runs
