// parley cv JOB.toml: k-fold cross-validation of a job, or of a path of penalties.
#include <fmt/format.h>

#include <iterator>

#include "apps/parley/data_report.h"
#include "apps/parley/interrupt.h"
#include "apps/parley/verbs.h"
#include "parley/catalog/read_job.h"
#include "parley/core/threads.h"
#include "parley/runs/cross_validation.h"

namespace parley::app {

namespace {

struct CvOptions {
  std::string job;
  std::vector<std::string> overrides;
  int folds = 5;
  int threads = 0;
  bool json = false;
};

Result<int> cv(const CvOptions& options) {
  if (options.threads > 0) set_thread_count(options.threads);
  watch_interrupts();
  PARLEY_TRY(const jobs::Job job, catalog::read_job(options.job, options.overrides));
  const auto found = runs::cross_validate(job, options.folds, {.stop = interrupted});
  if (!found) return fail(jobs::in_job(job, found.error()));
  if (options.json) {
    fmt::print("{}\n", runs::to_json(*found));
    return 0;
  }
  fmt::print("{}", runs::table(*found));
  say_notes(found->notes);
  if (!found->penalty.empty())
    fmt::print("\nnext: parley train {} --set {}={:.4g}\n", options.job, found->penalty,
               found->points[found->best].penalty.value_or(0));
  return 0;
}

}  // namespace

void add_cv(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<CvOptions>();
  CLI::App* verb = app.add_subcommand("cv", "Cross-validate a job, or a path of penalties");
  verb->add_option("job", options->job, "The job (TOML), of one site and without [privacy]")->required();
  verb->add_option("--set", options->overrides, "Override a setting of the job: section.key=value (repeat for more)")
      ->allow_extra_args(false);
  verb->add_option("--folds", options->folds, "How many parts the training rows are dealt to")
      ->check(CLI::Range(2, 1000000))
      ->capture_default_str();
  verb->add_option("--threads", options->threads,
                   "Threads to use (default: all cores); their number never changes the result")
      ->check(CLI::Range(1, 4096));
  verb->add_flag("--json", options->json, "Print JSON on stdout and nothing else");
  verb->footer(
      "Examples:\n"
      "  parley cv examples/readmission/job.toml --folds 10\n"
      "  parley cv examples/readmission/job.toml --set path.penalty=l1 --set path.points=50\n\n"
      "A job with a [path] is scored at every penalty of it. The score is of records that were not trained on: log "
      "loss, "
      "mean squared error, the share of wrong classes (squared hinge) or the deviance per row (Poisson).");
  verb->callback([options, &exit] { exit.finish(cv(*options)); });
}

}  // namespace parley::app
