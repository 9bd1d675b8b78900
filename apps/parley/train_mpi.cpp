#include "apps/parley/train_mpi.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/catalog/rows.h"
#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/privacy/ledger/seen_head.h"
#include "parley/rounds/local_parties.h"
#include "parley/runs/admit.h"
#include "parley/runs/coordinate.h"
#include "parley/runs/member.h"
#include "parley/runs/private_site.h"
#include "parley/runs/same_table.h"
#include "parley/runs/stopwatch.h"
#include "parley/transport/mpi/mpi_channel.h"

namespace parley::app {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kEnding{2};  // ranks of a run that was killed may take a moment to end

// One rank's party behind its handler.
class OwnParty {
 public:
  static Result<std::unique_ptr<OwnParty>> read(const jobs::Job& job, int rank, const std::string& out) {
    const int own[] = {rank};
    const jobs::PartySection& party = job.parties[static_cast<std::size_t>(rank)];
    PARLEY_TRY(runs::SameTable same, runs::SameTable::of(party.data, party.schema, party.order));
    PARLEY_TRY(std::vector<catalog::PartyTable> tables,
               catalog::federation_of(job)->read(job, own, {catalog::files_of(party)}));
    PARLEY_CHECK(same.still());
    const std::string folder = (fs::path(out) / "ranks" / tables.front().party).string();
    std::error_code error;
    fs::create_directories(folder, error);
    // What is kept of a run has answers before they leave: for the user alone.
    if (!error) fs::permissions(folder, fs::perms::owner_all, error);
    if (error) return fail(bad_input({folder, 0, ""}, "the folder cannot be made: " + error.message()));
    PARLEY_TRY(FileLock alone, FileLock::take((fs::path(folder) / "in-use").string(), kEnding));
    remove_unfinished(folder);
    return std::unique_ptr<OwnParty>(
        new OwnParty(job, {std::move(tables.front())}, folder, std::move(alone), std::move(same)));
  }

  // The ranks are one program, whose frames need no checksum (MpiChannel).
  std::optional<transport::SharedFrame> respond(std::string_view frame) {
    return handler_.respond(frame, wire::Unchecked::kAllowed);
  }
  [[nodiscard]] wire::Bytes memory() const { return party_->memory(); }
  [[nodiscard]] const std::optional<Error>& kept_out() const { return kept_out_; }
  void forget() const {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    fs::remove(fs::path(folder_).parent_path(), ignored);  // when it is the last
  }

 private:
  OwnParty(const jobs::Job& job, runs::Member member, std::string folder, FileLock alone, runs::SameTable same)
      : job_(job),
        member_(std::move(member)),
        folder_(std::move(folder)),
        alone_(std::move(alone)),
        same_(std::move(same)),
        handler_([this](const rounds::Opening& opening) { return noted(admit(opening)); }, folder_,
                 [this](const rounds::SiteEvent& event) {
                   if (event.what == rounds::SiteEvent::What::kNotAdmitted && !kept_out_) kept_out_ = failed(event.why);
                 }) {}

  Result<rounds::Admission> admit(const rounds::Opening& opening) {
    PARLEY_CHECK(same_.as_in(opening));
    if (jobs::pays(job_, member_.table.number)) {
      // Ranks may lie on different machines, or on one disk: each has a ledger of its own.
      jobs::Job at_rank = job_;
      at_rank.privacy->ledger = (fs::path(job_.privacy->ledger) / member_.table.party).string();
      PARLEY_TRY(runs::PaidRun run, runs::paid_run(job_, opening));
      run.seen = privacy::head_file_in(folder_);
      PARLEY_CHECK(
          runs::open_site(at_rank, catalog::objective_of(job_, member_.table.train.labels.classes), member_, run));
    }
    PARLEY_TRY(rounds::Admission admission, runs::admission_of(job_, member_));
    admission.data = same_.digest();
    party_ = std::move(admission.party);  // what it remembers is read when the run is over
    admission.party = std::make_unique<rounds::BorrowedParty>(*party_);
    return admission;
  }
  Result<rounds::Admission> noted(Result<rounds::Admission> admission) {
    if (!admission) kept_out_ = admission.error();
    return admission;
  }

  const jobs::Job& job_;
  runs::Member member_;
  std::string folder_;
  FileLock alone_;
  runs::SameTable same_;
  std::unique_ptr<rounds::Responder> party_;
  std::optional<Error> kept_out_;
  rounds::Handler handler_;
};

Result<runs::Coordinated> coordinate_ranks(const jobs::Job& job, const MpiRun& options,
                                           const transport::MpiWorld& world, const transport::Respond& respond) {
  remove_unfinished(options.out);
  rounds::Terms terms{.job = job.name + " " + job.digest,
                      .rules = {.largest_value = job.rules.largest_value},
                      .checkpoint = checkpoint_in(options.out)};
  for (const jobs::PartySection& party : job.parties) terms.parties.push_back(party.name);
  transport::MpiChannel channel(world, respond);
  PARLEY_TRY(rounds::Exchange exchange, rounds::Exchange::make(channel, std::move(terms)));
  if (exchange.rounds_done() > 0 && !options.quiet)
    fmt::print(stderr, "parley: going on after round {}\n", exchange.rounds_done());
  return runs::coordinate(job, exchange, {});
}

}  // namespace

Result<std::optional<runs::Outcome>> train_mpi(const jobs::Job& job, const MpiRun& options) {
  const catalog::Federation* federation = catalog::federation_of(job);
  if (federation == nullptr)
    return fail(bad_input({job.file, 0, "job.partition"}, "MPI is for jobs of several parties", name(job.partition)));
  PARLEY_CHECK(catalog::check_federated(job));
  if (federation->holding() == privacy::Holding::kDisjointRecords)
    PARLEY_CHECK(catalog::check_files_differ(job, catalog::files_of(job)));
  const transport::MpiWorld world(nullptr, nullptr);
  // A rank that fails ends all: the others would wait for it in a collective call.
  const auto give_up = [&](const Error& error) {
    std::fprintf(stderr, "parley: rank %d: %s\n", world.rank(), error.message.c_str());
    transport::MpiWorld::abort(error.exit_code());
  };
  if (world.size() != static_cast<int>(job.parties.size()))
    give_up(bad_input({job.file, 0, "party"},
                      fmt::format("every party needs a rank of its own: mpirun -n {}", job.parties.size()),
                      counted(world.size(), "rank")));
  const runs::Stopwatch reading;
  const auto party = OwnParty::read(job, world.rank(), options.out);
  if (!party) give_up(party.error());
  const transport::Respond respond = [&](std::string_view frame) {
    auto answer = (*party)->respond(frame);
    if ((*party)->kept_out()) give_up(*(*party)->kept_out());
    return answer;
  };
  const double read_seconds = reading.seconds();

  if (world.rank() != 0) {
    transport::serve(world, respond);
    static_cast<void>(world.gather((*party)->memory()));
    world.meet();
    (*party)->forget();
    return std::optional<runs::Outcome>();
  }
  const runs::Stopwatch training;
  const Result<runs::Coordinated> run = coordinate_ranks(job, options, world, respond);
  if (!run) give_up(run.error());
  const double train_seconds = training.seconds();
  // The ranks are machines of one site: their parts may meet in one folder.
  const std::vector<wire::Bytes> memories = world.gather((*party)->memory());
  runs::Outcome outcome;
  const auto finish = [&]() -> Result<void> {
    PARLEY_TRY(outcome, runs::outcome_of(job, *run, memories));
    outcome.read_seconds = read_seconds;
    outcome.train_seconds = train_seconds;
    outcome.wait_seconds = 0;
    outcome.notes.push_back("no rank sees all rows: objective and metrics are left to parley evaluate");
    return options.keep(outcome);
  };
  if (const auto done = finish(); !done) give_up(done.error());
  // The checkpoint first: without what the ranks kept it would be a run that cannot go on.
  std::error_code ignored;
  fs::remove(checkpoint_in(options.out), ignored);
  world.meet();
  (*party)->forget();
  return std::optional(std::move(outcome));
}

}  // namespace parley::app
