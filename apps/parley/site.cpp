// parley site explain JOB.toml: what leaves a site in a job, for whoever answers for its data.
#include <fmt/format.h>

#include "apps/parley/verbs.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/catalog/read_job.h"
#include "parley/runs/explain.h"

namespace parley::app {

namespace {

struct ExplainOptions {
  std::string job;
  std::string site;
  std::vector<std::string> overrides;
};

Result<int> explain_job(const ExplainOptions& options) {
  PARLEY_TRY(const jobs::JobText text, jobs::read_job_text(options.job, options.overrides));
  PARLEY_TRY(const jobs::Job job, catalog::parse_job(text, jobs::Paths::kAtSites));
  if (catalog::federation_of(job) != nullptr) PARLEY_CHECK(catalog::check_federated(job));
  std::optional<jobs::Site> site;
  if (!options.site.empty()) {
    PARLEY_TRY(site, catalog::read_site(options.site));
  }
  fmt::print("{}", runs::explain(job, site));
  return 0;
}

}  // namespace

void add_site(CLI::App& app, Exit& exit) {
  CLI::App* site = app.add_subcommand("site", "Say what a job means for a site");
  site->require_subcommand(1);
  const char* const example = "Example:\n  parley site explain examples/hospitals/job.toml";
  site->footer(example);
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* verb = site->add_subcommand(
      "explain", "What leaves the site: each quantity, of whom, to whom, protected how, at what cost, on one page");
  verb->add_option("job", options->job, "The job (TOML)")->required();
  verb->add_option("--site", options->site, "The site (TOML) that the page is about");
  verb->add_option("--set", options->overrides, "Override a setting of the job: section.key=value (repeat for more)")
      ->allow_extra_args(false);
  verb->footer(example);
  verb->callback([options, &exit] { exit.finish(explain_job(*options)); });
}

}  // namespace parley::app
