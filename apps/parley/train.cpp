// parley train JOB.toml: runs the job in this process.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "apps/parley/interrupt.h"
#include "apps/parley/output_folder.h"
#include "apps/parley/progress.h"
#include "apps/parley/train_mpi.h"
#include "apps/parley/verbs.h"
#include "parley/catalog/catalog.h"
#include "parley/catalog/read_job.h"
#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/core/threads.h"
#include "parley/models/model_parts.h"
#include "parley/reports/page.h"
#include "parley/runs/baselines.h"
#include "parley/runs/report.h"
#include "parley/runs/run.h"

namespace parley::app {

namespace {

struct TrainOptions {
  std::string job;
  std::vector<std::string> overrides;
  std::string out;
  std::string transport = "in-process";
  int threads = 0;
  bool overwrite = false;
  bool baselines = false;
  bool report = false;
  bool json = false;
  bool quiet = false;
};

// What [algorithm] name may be: one line for each, by what its parties hold.
std::string in_the_catalog() {
  std::string all = "Algorithms ([algorithm] name: partition):\n";
  for (const catalog::Row& row : catalog::rows())
    all += fmt::format("  {}: {}{}\n    {}\n", row.name, jobs::name(row.partition),
                       row.can_be_private ? ", can be private" : "", row.summary);
  return all;
}

std::string in_words(const runs::Phase& phase) {
  const auto* reading = std::get_if<runs::Reading>(&phase);
  if (reading == nullptr) return "training";
  if (reading->parties == 0) return "reading " + reading->table;
  return fmt::format("reading the {} of {}", reading->parties == 1 ? "table" : "tables",
                     counted(reading->parties, "party", "parties"));
}

Result<std::optional<runs::Outcome>> train_here(const jobs::Job& job, const TrainOptions& options) {
  watch_interrupts();
  ProgressLine line(options.quiet);
  const runs::Watch watch{[&](const algorithms::Progress& progress) {
                            if (!job.privacy) line.step(progress);
                            // Of a search nothing: how many runs it has is not released.
                            if (job.privacy && !job.tune) line.count(progress);
                            return !interrupted();
                          },
                          [&](const runs::Phase& phase) { line.phase(in_words(phase)); }, interrupted};
  return runs::run(job, watch);
}

Result<int> train(const TrainOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  if (options.threads > 0) set_thread_count(options.threads);
  PARLEY_TRY(const jobs::Job job, catalog::read_job(options.job, options.overrides));
  const std::string out = options.out.empty() ? "out/" + job.name : options.out;
  PARLEY_CHECK(check_folder(out));
  const bool over_mpi = options.transport == "mpi";
  // A run that goes on writes its own model once more.
  std::error_code unknown;
  if (!options.overwrite && !(over_mpi && std::filesystem::exists(checkpoint_in(out), unknown)))
    PARLEY_CHECK(check_replaceable(out));
  if (options.baselines) PARLEY_CHECK(runs::check_baselines(job));
  if (options.baselines && over_mpi)
    return fail(bad_input({.field = "--baselines"}, "reads all tables in one process: not with --transport mpi"));
  runs::ReportContext context;
  std::string result;
  const auto keep = [&](const runs::Outcome& outcome) -> Result<void> {
    PARLEY_CHECK(make_folder(out));
    PARLEY_CHECK(outcome.parts.empty() ? models::save(outcome.trained, out)
                                       : models::save(outcome.parts, outcome.trained.provenance, out));
    context.model_path = (std::filesystem::path(out) / "model.json").string();
    context.total_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    result = runs::result_json(job, outcome, context);
    return write_atomically((std::filesystem::path(out) / "result.json").string(), result + "\n");
  };
  PARLEY_TRY(const std::optional<runs::Outcome> finished,
             over_mpi ? train_mpi(job, {out, options.quiet, keep}) : train_here(job, options));
  if (!finished) return 0;  // another rank has the result
  runs::Outcome outcome = *finished;
  if (options.baselines && outcome.fit.stop != algorithms::Stop::kInterrupted) {
    PARLEY_TRY(outcome.baselines, runs::baselines_of(job));
  }
  if (!over_mpi) PARLEY_CHECK(keep(outcome));
  if (options.report) PARLEY_CHECK(reports::write_report({out}));
  if (options.json)
    fmt::print("{}\n", result);
  else
    fmt::print("{}", runs::result_table(job, outcome, context));
  if (outcome.fit.stop == algorithms::Stop::kInterrupted) {
    fmt::print(stderr, "parley: interrupted; the model so far is in {}\n", context.model_path);
    return 1;
  }
  if (outcome.fit.stop == algorithms::Stop::kStalled) {
    fmt::print(
        stderr,
        "parley: no further progress was possible before the tolerance was reached; the best model so far is in {}\n",
        context.model_path);
    return 1;
  }
  if (outcome.fit.stop == algorithms::Stop::kBudgetEnded) {
    fmt::print(stderr, "parley: the privacy budget ended after {}; the model that it paid for is in {}\n",
               counted(outcome.fit.iterations, "iteration"), context.model_path);
    return static_cast<int>(Fault::kBudgetEnded);
  }
  return 0;
}

}  // namespace

void add_train(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* verb = app.add_subcommand("train", "Train the model of a job, with all parties in this process");
  verb->add_option("job", options->job, "The job (TOML)")->required();
  verb->add_option("--set", options->overrides, "Override a setting of the job: section.key=value (repeat for more)")
      ->allow_extra_args(false);
  verb->add_option("--out", options->out, "Folder for model.json and result.json (default: out/JOB-NAME)");
  verb->add_option("--threads", options->threads,
                   "Threads to use (default: all cores); their number never changes the result")
      ->check(CLI::Range(1, 4096));
  verb->add_option("--transport", options->transport,
                   "in-process; or mpi, where party p is rank p of mpirun -n PARTIES")
      ->check(CLI::IsMember({"in-process", "mpi"}))
      ->capture_default_str();
  verb->add_flag("--overwrite", options->overwrite,
                 "Replace a private model in that folder, though a budget paid for it");
  verb->add_flag("--baselines", options->baselines,
                 "Of several parties: train each by itself and on all data in one place too, and print a comparison");
  verb->add_flag("--report", options->report, "Write report.html into that folder too (parley report)");
  verb->add_flag("--json", options->json, "Print result.json on stdout and nothing else");
  verb->add_flag("--quiet", options->quiet, "Print no progress on stderr");
  verb->footer(
      in_the_catalog() +
      "\nExample:\n"
      "  parley train examples/readmission/job.toml --set model.l1=0.01 --out out/readmission\n"
      "  parley train examples/clinic-and-insurer/job.toml --baselines --out out/compared\n\n"
      "Ctrl-C stops the training and keeps the model so far (exit 1). Before the first iteration nothing is written.");
  verb->callback([options, &exit] { exit.finish(train(*options)); });
}

}  // namespace parley::app
