// parley evaluate: the metrics of a model on tables that have labels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/parley/data_report.h"
#include "apps/parley/verbs.h"
#include "parley/models/model_parts.h"
#include "parley/models/predictions.h"
#include "parley/models/truth.h"
#include "parley/runs/report.h"

namespace parley::app {

namespace {

struct EvaluateOptions {
  std::vector<std::string> model;
  std::vector<std::string> data;
  std::string truth;
  bool json = false;
};

Result<int> evaluate(const EvaluateOptions& options) {
  PARLEY_TRY(const auto parts, models::load_parts(options.model));
  PARLEY_TRY(const models::Predictions predicted, models::predict(parts, options.data, data::LabelUse::kRequired));
  say_notes(predicted.notes);
  models::Scored scored = models::scored(models::with_labels(parts).model, predicted.margins, predicted.labels);
  if (!options.truth.empty()) {
    PARLEY_TRY(scored.support, models::support_against(options.truth, parts));
  }
  if (options.json)
    fmt::print("{}\n", runs::metrics_json(scored));
  else
    fmt::print("{} on {}\n\n{}", fmt::join(options.model, ", "), fmt::join(options.data, ", "),
               runs::metrics_table(scored));
  say_notes(models::doubts(scored));
  return 0;
}

}  // namespace

void add_evaluate(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* verb = app.add_subcommand("evaluate", "Measure a trained model on a table that has labels");
  verb->add_option("--model", options->model,
                   "Folder of a run, or its model.json; for a model in parts, the part of every party")
      ->required();
  verb->add_option("--data", options->data,
                   "Tables with features and labels; for a model in parts, PARTY=FILE for each party")
      ->required();
  verb->add_option(
      "--truth", options->truth,
      "The true model (truth.json of `parley data generate`); adds which of its nonzero columns were found");
  verb->add_flag("--json", options->json, "Print JSON on stdout and nothing else");
  verb->footer(
      "Examples:\n"
      "  parley evaluate --model out/readmission --data examples/readmission/clinic.csv\n"
      "  parley evaluate --model out/square --data square/data.csv --truth square/truth.json");
  verb->callback([options, &exit] { exit.finish(evaluate(*options)); });
}

}  // namespace parley::app
