#include "parley/catalog/coordinate.h"

namespace parley::catalog {

Result<Coordinated> coordinate(const Job& job, transport::Channel& channel, rounds::Terms terms, const AfterRound& after) {
  PARLEY_TRY(rounds::Exchange exchange, rounds::Exchange::make(channel, std::move(terms)));
  PARLEY_TRY(const auto introductions, exchange.open());
  if (!introductions) return fail(failed("stopped before every party was there"));
  Coordinated run;
  for (const wire::Bytes& bytes : *introductions) {
    PARLEY_TRY(run.parties.emplace_back(), wire::decode<Introduction>(bytes));
  }
  PARLEY_CHECK(job.federation->check(job, run.parties));
  PARLEY_TRY(run.learnt, job.federation->coordinate(job, run.parties, exchange, after));
  if (run.learnt.stop != algorithms::Stop::kInterrupted) exchange.close();
  run.communication = exchange.meter().communication();
  run.wait_seconds = exchange.wait_seconds();
  return run;
}

Result<rounds::Admission> admit(const Job& job, const PartyTable& table, rounds::GateOfRound gate) {
  PARLEY_TRY(std::unique_ptr<rounds::Responder> party, job.federation->responder(job, table, std::move(gate)));
  return rounds::Admission{std::move(party), wire::encode(introduce(table))};
}

}  // namespace parley::catalog
