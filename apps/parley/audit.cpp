// parley audit JOB.toml: attacks the job's claim.
#include "parley/audits/audit.h"

#include <fmt/format.h>

#include "apps/parley/interrupt.h"
#include "apps/parley/verbs.h"
#include "parley/audits/report.h"
#include "parley/catalog/read_job.h"
#include "parley/core/threads.h"

namespace parley::app {

namespace {

struct AuditOptions {
  std::string job;
  std::vector<std::string> overrides;
  audits::GameSettings game;
  std::size_t records = 32;
  bool json = false;
};

int exit_code(audits::Verdict verdict) {
  switch (verdict) {
    case audits::Verdict::kConsistent:
      return 0;
    case audits::Verdict::kViolated:
      return 1;
    case audits::Verdict::kInconclusive:
      break;
  }
  return 2;
}

Result<int> audit(const AuditOptions& options) {
  PARLEY_TRY(const jobs::Job job, catalog::read_job(options.job, options.overrides));
  watch_interrupts();
  set_thread_count(1);  // runs are small: threads would wait for each other
  audits::GameSettings game = options.game;
  game.stop = interrupted;
  PARLEY_TRY(const audits::Audited audited, audits::audit(job, options.records, game));
  fmt::print("{}{}", options.json ? audits::audit_json(job, audited) : audits::audit_table(job, audited),
             options.json ? "\n" : "");
  return exit_code(audited.verdict);
}

}  // namespace

void add_audit(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<AuditOptions>();
  CLI::App* verb = app.add_subcommand("audit", "Attack a job's privacy claim and show what the attack proves");
  verb->add_option("job", options->job, "The job (TOML)")->required();
  verb->add_option("--set", options->overrides, "Override a setting of the job: section.key=value (repeat for more)")
      ->allow_extra_args(false);
  verb->add_option("--runs", options->game.runs, "Runs of the job, at most")
      ->check(CLI::Range(2, 100'000'000))
      ->capture_default_str();
  verb->add_option("--seconds", options->game.seconds, "Time that they may take")
      ->check(CLI::Range(0.1, 1e7))
      ->capture_default_str();
  verb->add_option("--confidence", options->game.confidence, "That a claim which holds is not called violated")
      ->check(CLI::Range(0.5, 1 - 1e-12))
      ->capture_default_str();
  verb->add_option("--records", options->records,
                   "Records of each table that the audit makes, where the job does not state how many")
      ->check(CLI::Range(std::size_t{2}, std::size_t{1'000'000}))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "Print JSON on stdout and nothing else");
  verb->footer(
      "Runs the job many times on pairs of tables that differ in one record (label, client), tells them apart by what\n"
      "each observer sees, and prints the epsilon that its success proves beside the one that is claimed. The tables\n"
      "are made from the schema: no data is read, no budget is charged and nothing leaves.\n\n"
      "Exit codes: 0 consistent with the claim; 1 violated (or the run failed: then one line on stderr says why);\n"
      "2 inconclusive (or bad input: then stdout is empty).\n\n"
      "Example:\n  parley audit examples/readmission/private.toml --runs 400 --seconds 20");
  verb->callback([options, &exit] { exit.finish(audit(*options)); });
}

}  // namespace parley::app
