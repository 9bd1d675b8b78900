#include "parley/catalog/coordinate.h"

namespace parley::catalog {

Result<Coordinated> coordinate(const Job& job, rounds::Exchange& exchange, const AfterRound& after) {
  Coordinated run;
  PARLEY_TRY(const auto introductions, exchange.open());
  if (!introductions) {
    run.learnt.stop = algorithms::Stop::kInterrupted;
    return run;
  }
  for (std::size_t p = 0; p < introductions->size(); ++p) {
    PARLEY_TRY(run.parties.emplace_back(), wire::decode<Introduction>((*introductions)[p]));
    if (run.parties.back().party != job.parties[p].name)
      return fail(failed("party '" + job.parties[p].name + "' introduced itself under another name"));
  }
  PARLEY_CHECK(job.federation->check(job, run.parties));
  PARLEY_TRY(run.learnt, job.federation->coordinate(job, run.parties, exchange, after));
  run.communication = exchange.meter().communication();
  run.wait_seconds = exchange.wait_seconds();
  return run;
}

Result<rounds::Admission> admit(const Job& job, const PartyTable& table, rounds::GateOfRound gate) {
  PARLEY_TRY(std::unique_ptr<rounds::Responder> party, job.federation->responder(job, table, std::move(gate)));
  return rounds::Admission{std::move(party), wire::encode(introduce(table))};
}

}  // namespace parley::catalog
