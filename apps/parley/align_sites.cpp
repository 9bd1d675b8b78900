// parley align --listen: parties find their common records at their sites.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/parley/align.h"
#include "apps/parley/signals.h"
#include "apps/parley/tls_folder.h"
#include "parley/catalog/align_tables.h"
#include "parley/catalog/read_job.h"
#include "parley/core/address.h"
#include "parley/jobs/job_text.h"
#include "parley/rounds/drive.h"
#include "parley/secure/blinded_ids.h"
#include "parley/transport/grpc/client.h"
#include "parley/wire/encode.h"

namespace parley::app {

Result<InCommon> align_sites(const AlignOptions& options, const std::string& find) {
  PARLEY_CHECK(check_address(options.listen, {.field = "--listen"}, PortZero::kSystemChooses));
  std::vector<std::string> overrides = options.overrides;
  overrides.push_back("secure.find=" + find);
  PARLEY_TRY(const jobs::JobText text, jobs::read_job_text(options.job, overrides));
  PARLEY_TRY(const jobs::Job job, catalog::parse_job(text, jobs::Paths::kAtSites));
  PARLEY_CHECK(catalog::check_alignable(job));
  PARLEY_TRY(transport::Credentials credentials, read_credentials(options.tls, transport::kCoordinator));
  std::vector<std::string> parties;
  for (const jobs::PartySection& party : job.parties) parties.push_back(party.name);
  StopSignals signals;
  PARLEY_TRY(const auto server, transport::GrpcServer::listen({options.listen, std::move(credentials), parties}));
  rounds::Terms terms{.parties = parties, .job = wire::encode(text), .rules = job.rules};
  terms.stop_asked = [&] { return signals.asked(); };
  PARLEY_TRY(rounds::Exchange exchange, rounds::Exchange::make(*server, std::move(terms)));
  fmt::print(stderr, "parley: listening on port {} for {}\n", server->port(), fmt::join(parties, ", "));
  signals.then([&] { server->wake(); });
  const algorithms::Alignment alignment(static_cast<int>(parties.size()), catalog::mode_of(*job.secure.find));
  const auto interrupted = [] { return fail(failed("the alignment was stopped before it was done")); };
  PARLEY_TRY(const auto opened, exchange.open());
  if (!opened) return interrupted();
  PARLEY_TRY(const auto outcome, rounds::drive(alignment, alignment.start(), exchange));
  if (outcome.ended != rounds::Ended::kDone) return interrupted();
  PARLEY_CHECK(exchange.close());
  signals.then({});
  if (const std::string missing = exchange.not_told(); !missing.empty())
    return fail(failed("these may lack their order, so align again: " + missing));
  InCommon found{.kept = outcome.iterate.kept, .communication = exchange.meter().communication()};
  for (const std::string& list : outcome.iterate.lists)
    found.ids.push_back(static_cast<std::int64_t>(list.size() / secure::kPointBytes));
  for (const auto& beside : outcome.iterate.beside) found.common.push_back(beside.common);
  return found;
}

}  // namespace parley::app
