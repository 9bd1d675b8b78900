// parley plan JOB.toml: what the job would release and cost, before it is run.
#include "parley/catalog/plan.h"

#include <fmt/format.h>

#include <filesystem>

#include "apps/parley/verbs.h"

namespace parley::app {

namespace {

struct PlanOptions {
  std::string job;
  std::vector<std::string> overrides;
  bool json = false;
};

Result<int> plan(const PlanOptions& options) {
  PARLEY_TRY(catalog::Job job, catalog::read_job(options.job, options.overrides));
  if (job.privacy && job.privacy->ledger.empty())
    job.privacy->ledger = (std::filesystem::path(options.job).parent_path() / "ledger").string();
  PARLEY_TRY(const catalog::JobPlan planned, catalog::plan_job(job));
  fmt::print("{}\n", options.json ? catalog::plan_json(job, planned) : catalog::plan_table(job, planned));
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* verb = app.add_subcommand("plan", "What a job would release and cost; nothing is charged or released");
  verb->add_option("job", options->job, "The job (TOML)")->required();
  verb->add_option("--set", options->overrides, "Override a setting of the job: section.key=value (may be repeated)")
      ->allow_extra_args(false);
  verb->add_flag("--json", options->json, "Print JSON on stdout and nothing else");
  verb->footer("Example:\n  parley plan examples/readmission/private.toml");
  verb->callback([options, &exit] { exit.finish(plan(*options)); });
}

}  // namespace parley::app
