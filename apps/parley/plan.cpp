// parley plan JOB.toml: what the job would release and cost, before it is run.
#include "parley/runs/plan.h"

#include <fmt/format.h>

#include "apps/parley/verbs.h"
#include "parley/catalog/read_job.h"

namespace parley::app {

namespace {

struct PlanOptions {
  std::string job;
  std::vector<std::string> overrides;
  bool json = false;
};

Result<int> plan(const PlanOptions& options) {
  PARLEY_TRY(const jobs::Job job, catalog::read_job(options.job, options.overrides));
  PARLEY_TRY(const runs::JobPlan planned, runs::plan_job(job));
  fmt::print("{}\n", options.json ? runs::plan_json(job, planned) : runs::plan_table(job, planned));
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* verb = app.add_subcommand("plan", "Show what a job would release and cost; nothing is charged or released");
  verb->add_option("job", options->job, "The job (TOML)")->required();
  verb->add_option("--set", options->overrides, "Override a setting of the job: section.key=value (repeat for more)")
      ->allow_extra_args(false);
  verb->add_flag("--json", options->json, "Print JSON on stdout and nothing else");
  verb->footer("Example:\n  parley plan examples/readmission/private.toml");
  verb->callback([options, &exit] { exit.finish(plan(*options)); });
}

}  // namespace parley::app
