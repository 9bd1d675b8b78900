// parley coordinate JOB.toml: runs a federated job with parties that dial in.
#include "parley/runs/coordinate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>

#include "apps/parley/finished_run.h"
#include "apps/parley/output_folder.h"
#include "apps/parley/progress.h"
#include "apps/parley/signals.h"
#include "apps/parley/tls_folder.h"
#include "apps/parley/verbs.h"
#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/catalog/read_job.h"
#include "parley/core/address.h"
#include "parley/core/descriptors.h"
#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/models/model_parts.h"
#include "parley/privacy/ledger/digest.h"
#include "parley/runs/admit.h"
#include "parley/runs/outcome.h"
#include "parley/runs/report.h"
#include "parley/transport/grpc/client.h"
#include "parley/wire/encode.h"

namespace parley::app {

namespace {

struct CoordinateOptions {
  std::string job;
  std::vector<std::string> overrides;
  std::string listen;
  std::string tls;
  std::string out;
  bool overwrite = false;
  bool json = false;
  bool quiet = false;
};

std::vector<std::string> names_of(const jobs::Job& job) {
  std::vector<std::string> names;
  for (const jobs::PartySection& party : job.parties) names.push_back(party.name);
  return names;
}

// Who was missing in rounds that went on without it. A round in which a budget ended is nobody's.
std::vector<std::string> notes_on_the_missing(const jobs::Job& job, const runs::Coordinated& run) {
  std::vector<std::string> notes;
  if (!run.left_out.empty()) notes.push_back(fmt::format("the run began without: {}", fmt::join(run.left_out, ", ")));
  const rounds::Communication& sent = run.communication;
  for (std::size_t p = 0; p < sent.answered.size(); ++p) {
    const std::string& name = job.parties[p].name;
    const bool began = std::find(run.left_out.begin(), run.left_out.end(), name) == run.left_out.end();
    if (began && job.rules.on_missing == rounds::OnMissing::kProceed && sent.answered[p] < sent.asked[p])
      notes.push_back(fmt::format("party '{}' answered {} of {}{}", name, sent.answered[p],
                                  counted(sent.asked[p], "round"),
                                  sent.asked[p] < run.learnt.rounds ? " that asked it" : ""));
  }
  return notes;
}

constexpr std::chrono::seconds kEnding{2};  // a coordinator that was killed may take a moment to end
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// What the parties' data say about the model stays with them: there is no objective and there are no metrics to report.
Result<runs::Outcome> outcome_of(const jobs::Job& job, const runs::Coordinated& run, const wire::RunId& id) {
  PARLEY_TRY(runs::Outcome outcome, runs::outcome_of(job, run, {}));
  for (runs::PartElsewhere& part : outcome.elsewhere) part.path = runs::part_in("STATE", id);
  const std::vector<std::string> missing = notes_on_the_missing(job, run);
  outcome.notes.insert(outcome.notes.end(), missing.begin(), missing.end());
  outcome.notes.push_back(outcome.parts.empty() ? "each party keeps its part of the model"
                                                : "the coordinator sees no rows: metrics are left to parley evaluate");
  return outcome;
}

std::string model_in(const std::string& out) {
  return (std::filesystem::path(out) / "model.json").string();
}

Result<int> tell(const FinishedRun& run, const CoordinateOptions& options) {
  if (const auto model = read_whole(model_in(options.out));
      !run.model.empty() && (!model || privacy::digest_of(*model) != run.model))
    return fail(failed(fmt::format(
        "{}: run {} of this job is over, and its model is gone or was changed; another --out or --overwrite "
        "begins a new run",
        model_in(options.out), run.run.substr(0, 12))));
  if (!options.quiet)
    fmt::print(
        stderr,
        "parley: run {} of this job is over, and this is its result; another --out or --overwrite begins a new run\n",
        run.run.substr(0, 12));
  fmt::print("{}", options.json ? run.result : run.shown);
  return run.exit_code;
}

Result<int> run_coordinator(const CoordinateOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  raise_descriptor_limit();
  PARLEY_CHECK(check_address(options.listen, {.field = "--listen"}, PortZero::kSystemChooses));
  PARLEY_TRY(const jobs::JobText text, jobs::read_job_text(options.job, options.overrides));
  PARLEY_TRY(const jobs::Job job, catalog::parse_job(text, jobs::Paths::kAtSites));
  if (catalog::federation_of(job) == nullptr)
    return fail(bad_input({options.job, 0, "algorithm.name"}, "is not for several parties; parley train runs it",
                          job.algorithm));
  PARLEY_CHECK(catalog::check_federated(job));
  PARLEY_TRY(transport::Credentials credentials, read_credentials(options.tls, transport::kCoordinator));
  PARLEY_CHECK(make_folder(options.out));
  // Two coordinators on one checkpoint would be one run twice. What the folder holds is looked at once it cannot
  // change.
  PARLEY_TRY(const FileLock alone, FileLock::take((std::filesystem::path(options.out) / "in-use").string(), kEnding));
  remove_unfinished(options.out);
  const std::filesystem::path checkpoint = std::filesystem::path(options.out) / "checkpoint";
  // However its path is spelt.
  const std::string job_digest = privacy::digest_of(wire::encode(jobs::JobText{"", text.text, text.overrides}));
  // A run that goes on writes its own model once more.
  std::error_code unknown;
  if (!options.overwrite && !std::filesystem::exists(checkpoint, unknown)) {
    if (const auto finished = finished_run(options.out, job_digest)) return tell(*finished, options);
    PARLEY_CHECK(check_replaceable(options.out));
  }

  StopSignals signals;
  // The last thing to go, after the server: whoever is killed before comes back to the finished run, not to a new one.
  struct Ended {
    std::filesystem::path checkpoint;
    bool closed = false;
    ~Ended() {
      std::error_code ignored;
      if (closed) std::filesystem::remove(checkpoint, ignored);
    }
  } ended{checkpoint};
  const std::vector<std::string> parties = names_of(job);
  PARLEY_TRY(const auto server, transport::GrpcServer::listen({options.listen, std::move(credentials), parties}));
  rounds::Terms terms{parties, wire::encode(text), job.rules, ended.checkpoint.string(),
                      [&] { return signals.asked(); }};
  terms.leaves_checkpoint = true;
  ProgressLine line(options.quiet);
  if (!options.quiet) terms.notice = [&line](const rounds::Event& event) { line.say(in_words(event)); };
  PARLEY_TRY(rounds::Exchange exchange, rounds::Exchange::make(*server, std::move(terms)));
  // A port that the system chose is known to nobody else.
  if (!options.quiet || !options.listen.ends_with(fmt::format(":{}", server->port())))
    fmt::print(stderr, "parley: listening on port {} for {}\n", server->port(), fmt::join(parties, ", "));
  if (!options.quiet && exchange.rounds_done() > 0)
    fmt::print(stderr, "parley: going on after round {}\n", exchange.rounds_done());
  signals.then([&] { server->wake(); });
  const auto after = [&](const catalog::Seen& seen) {
    line.step({.iteration = static_cast<int>(seen.round), .objective = kUnknown, .gap = kUnknown});
    return !signals.asked();
  };
  const auto run = runs::coordinate(job, exchange, {after});
  line.clear();
  signals.then({});
  PARLEY_CHECK(run);
  if (run->learnt.stop == algorithms::Stop::kInterrupted) {
    fmt::print(stderr, "parley: stopped after round {}; the same command goes on from there\n", exchange.rounds_done());
    return 1;
  }
  PARLEY_TRY(runs::Outcome outcome, outcome_of(job, *run, exchange.run()));
  runs::ReportContext context;
  context.total_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  outcome.train_seconds = std::max(0.0, context.total_seconds - outcome.wait_seconds);
  std::string model_digest;
  if (!outcome.parts.empty()) {
    PARLEY_CHECK(models::save(outcome.parts, outcome.trained.provenance, options.out));
    context.model_path = model_in(options.out);
    PARLEY_TRY(const std::string model, read_whole(context.model_path));
    model_digest = privacy::digest_of(model);
  }
  const int exit_code = outcome.fit.stop == algorithms::Stop::kBudgetEnded ? 3 : 0;
  const FinishedRun finished{wire::hex(exchange.run()),
                             job_digest,
                             job.privacy.has_value(),
                             model_digest,
                             runs::result_json(job, outcome, context) + "\n",
                             runs::result_table(job, outcome, context),
                             exit_code};
  PARLEY_CHECK(write_atomically((std::filesystem::path(options.out) / "result.json").string(), finished.result));
  // Only now: a coordinator that is killed before comes back to the finished run and writes the same again.
  signals.then([&] { server->wake(); });
  PARLEY_CHECK(exchange.close());
  signals.then({});
  // Where each party keeps its part of the model, it does so when it hears of the end.
  const std::string not_told = exchange.not_told();
  const bool closed = not_told.empty() || !outcome.parts.empty();
  if (closed) PARLEY_CHECK(keep(finished, options.out));
  ended.closed = closed;
  if (!closed)
    fmt::print(
        stderr,
        "parley: the run is over, but these may lack their part of the model: {}; the same command tells them again "
        "(or remove {})\n",
        not_told, ended.checkpoint.string());
  else if (!not_told.empty())
    line.say("the run is over, and these have not heard of it: " + not_told);
  fmt::print("{}", options.json ? finished.result : finished.shown);
  return exit_code;
}

}  // namespace

void add_coordinate(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<CoordinateOptions>();
  CLI::App* verb =
      app.add_subcommand("coordinate", "Run a job with parties on different machines, over gRPC with mutual TLS");
  verb->add_option("job", options->job, "The job (TOML); each party knows where its own data are")->required();
  verb->add_option("--set", options->overrides, "Override a setting of the job: section.key=value (repeat for more)")
      ->allow_extra_args(false);
  verb->add_option("--listen", options->listen, "Address to listen on, HOST:PORT; with port 0 the system chooses one")
      ->required();
  verb->add_option("--tls", options->tls, "Folder with ca.pem, coordinator.pem and coordinator.key (see parley keys)")
      ->required();
  verb->add_option("--out", options->out, "Folder for model.json, result.json and the checkpoint")->required();
  verb->add_flag("--overwrite", options->overwrite,
                 "Replace a private model in that folder, though a budget paid for it");
  verb->add_flag("--json", options->json, "Print result.json on stdout and nothing else");
  verb->add_flag("--quiet", options->quiet,
                 "Print no progress on stderr; a port that the system chose is still printed");
  verb->footer(
      "Example:\n"
      "  parley coordinate examples/hospitals/job.toml --listen 0.0.0.0:7000 --tls keys --out out/hospitals\n\n"
      "After Ctrl-C, or when the coordinator was killed at any point, the same command goes on where the run was, to "
      "the same model. When the run is over, the command prints its result again.");
  verb->callback([options, &exit] { exit.finish(run_coordinator(*options)); });
}

}  // namespace parley::app
