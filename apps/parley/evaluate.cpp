// parley evaluate: the metrics of a model on tables that have labels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/parley/data_report.h"
#include "apps/parley/verbs.h"
#include "parley/catalog/model_parts.h"
#include "parley/catalog/report.h"
#include "parley/catalog/run.h"
#include "parley/catalog/truth.h"
#include "parley/glm/metrics.h"

namespace parley::app {

namespace {

struct EvaluateOptions {
  std::vector<std::string> model;
  std::vector<std::string> data;
  std::string truth;
  bool json = false;
};

Result<int> evaluate(const EvaluateOptions& options) {
  PARLEY_TRY(const auto parts, catalog::load_parts(options.model));
  PARLEY_TRY(const catalog::Judged judged, catalog::judge(parts, options.data, data::LabelUse::kRequired));
  say_notes(judged.notes);
  catalog::Scored scored{judged.rows(), glm::measure(parts.front().model.task, judged.margins, judged.labels), {}};
  if (!options.truth.empty()) {
    PARLEY_TRY(scored.support, catalog::support_against(options.truth, parts));
  }
  if (options.json)
    fmt::print("{}\n", catalog::metrics_json(scored));
  else
    fmt::print("{} on {}\n\n{}", fmt::join(options.model, ", "), fmt::join(options.data, ", "), catalog::metrics_table(scored));
  return 0;
}

}  // namespace

void add_evaluate(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* verb = app.add_subcommand("evaluate", "Measure a trained model on a table that has labels");
  verb->add_option("--model", options->model,
                   "Folder of a run (or its model.json); of a model that parties keep in parts: the part of every party")
      ->required();
  verb->add_option("--data", options->data, "Tables with features and labels; of a model in parts: PARTY=FILE for each party")->required();
  verb->add_option("--truth", options->truth,
                   "The true model, as truth.json of `data generate`: adds which of its nonzero columns were found");
  verb->add_flag("--json", options->json, "Print JSON on stdout and nothing else");
  verb->footer(
      "Examples:\n"
      "  parley evaluate --model out/readmission --data examples/readmission/clinic.csv\n"
      "  parley evaluate --model out/square --data square/data.csv --truth square/truth.json");
  verb->callback([options, &exit] { exit.finish(evaluate(*options)); });
}

}  // namespace parley::app
