// parley evaluate: the metrics of a model on tables that have labels.
#include <fmt/format.h>

#include "apps/parley/verbs.h"
#include "parley/catalog/report.h"
#include "parley/catalog/run.h"
#include "parley/catalog/trained.h"
#include "parley/data/load.h"

namespace parley::app {

namespace {

struct EvaluateOptions {
  std::string model;
  std::string data;
  bool json = false;
};

Result<int> evaluate(const EvaluateOptions& options) {
  PARLEY_TRY(const catalog::Trained trained, catalog::load_trained(options.model));
  PARLEY_TRY(const data::Dataset table, data::load(options.data, trained.reading(data::LabelUse::kRequired)));
  PARLEY_TRY(const catalog::Scored scored, catalog::score(trained, table));
  if (options.json)
    fmt::print("{}\n", catalog::metrics_json(scored));
  else
    fmt::print("{} on {}\n\n{}", options.model, options.data, catalog::metrics_table(scored));
  return 0;
}

}  // namespace

void add_evaluate(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* verb = app.add_subcommand("evaluate", "Measure a trained model on a table that has labels");
  verb->add_option("--model", options->model, "Folder of a run (or its model.json)")->required();
  verb->add_option("--data", options->data, "A table with features and labels")->required();
  verb->add_flag("--json", options->json, "Print JSON on stdout and nothing else");
  verb->footer(
      "Example:\n"
      "  parley evaluate --model out/readmission --data examples/readmission/clinic.csv");
  verb->callback([options, &exit] { exit.finish(evaluate(*options)); });
}

}  // namespace parley::app
