#include "apps/parley/train_mpi.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>

#include "parley/catalog/coordinate.h"
#include "parley/catalog/privacy_across.h"
#include "parley/catalog/private_site.h"
#include "parley/catalog/stopwatch.h"
#include "parley/rounds/local_parties.h"
#include "parley/transport/mpi/mpi_channel.h"

namespace parley::app {

namespace {

Result<rounds::Admission> own_party(const catalog::Job& job, int rank) {
  const int own[] = {rank};
  PARLEY_TRY(std::vector<catalog::PartyTable> tables, job.federation->read(job, own));
  catalog::PartyTable& table = tables.front();
  if (job.privacy) {
    // Ranks may lie on different machines, or on one disk: each has a ledger of its own.
    catalog::Job at_rank = job;
    at_rank.privacy->ledger = (std::filesystem::path(job.privacy->ledger) / table.party).string();
    PARLEY_CHECK(
        catalog::open_site(at_rank, catalog::objective_of(job, table.train.labels.classes), table, {}));
  }
  return catalog::admit(job, table);
}

Result<catalog::Coordinated> coordinate(const catalog::Job& job, const transport::MpiWorld& world, const transport::Respond& respond) {
  rounds::Terms terms{.job = job.name};
  for (const catalog::Party& party : job.parties) terms.parties.push_back(party.name);
  transport::MpiChannel channel(world, respond);
  PARLEY_TRY(rounds::Exchange exchange, rounds::Exchange::make(channel, std::move(terms)));
  PARLEY_TRY(catalog::Coordinated run, catalog::coordinate(job, exchange, {}));
  PARLEY_CHECK(exchange.close());
  return run;
}

}  // namespace

Result<std::optional<catalog::Outcome>> train_mpi(const catalog::Job& job) {
  if (!job.federation)
    return fail(
        bad_input({job.file, 0, "job.partition"}, "MPI is for jobs of several parties", name(job.partition)));
  const transport::MpiWorld world(nullptr, nullptr);
  // A rank that fails ends all: the others would wait for it in a collective call.
  const auto give_up = [&](const Error& error) {
    std::fprintf(stderr, "parley: rank %d: %s\n", world.rank(), error.message.c_str());
    transport::MpiWorld::abort(error.exit_code());
  };
  if (world.size() != static_cast<int>(job.parties.size()))
    give_up(bad_input({job.file, 0, "party"}, fmt::format("{0} parties need as many ranks: mpirun -n {0}", job.parties.size()),
                      fmt::format("{} ranks", world.size())));
  const catalog::Stopwatch reading;
  Result<rounds::Admission> admitted = own_party(job, world.rank());
  if (!admitted) give_up(admitted.error());
  const std::unique_ptr<rounds::Responder> party = std::move(admitted->party);
  rounds::Handler handler([&](const rounds::Opening&) -> Result<rounds::Admission> {
    return rounds::Admission{std::make_unique<rounds::BorrowedParty>(*party), admitted->introduction};
  }, "");
  const transport::Respond respond = [&](std::string_view frame) { return handler.respond(frame); };
  catalog::Outcome outcome;
  outcome.read_seconds = reading.seconds();

  if (world.rank() != 0) {
    transport::serve(world, respond);
    static_cast<void>(world.gather(party->memory()));
    return std::optional<catalog::Outcome>();
  }
  const catalog::Stopwatch training;
  const Result<catalog::Coordinated> run = coordinate(job, world, respond);
  if (!run) give_up(run.error());
  outcome.train_seconds = training.seconds();
  // The ranks are machines of one site: their parts may meet in one folder.
  const std::vector<wire::Bytes> memories = world.gather(party->memory());
  PARLEY_TRY(outcome.parts, job.federation->model(job, {run->parties, run->learnt.parameters, memories}));
  if (job.privacy) {
    PARLEY_TRY(outcome.privacy, catalog::privacy_across(job, run->parties));
    outcome.notes = outcome.privacy->notes;
    for (catalog::ModelPart& part : outcome.parts)
      part.trained.provenance.privacy = outcome.privacy->statement;
  }
  outcome.trained = outcome.parts.front().trained;
  outcome.communication = run->communication;
  outcome.fit.objective = outcome.fit.gap = std::numeric_limits<double>::quiet_NaN();
  outcome.fit.stop = run->learnt.stop;
  outcome.fit.iterations = static_cast<int>(run->learnt.rounds);
  outcome.notes.push_back("no rank sees all rows: objective and metrics are left to parley evaluate");
  return std::optional(std::move(outcome));
}

}  // namespace parley::app
