#include "parley/catalog/coordinate.h"

#include <algorithm>

#include "parley/catalog/private_site.h"

namespace parley::catalog {

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A private run whose cost nobody could state is not begun.
Result<void> check_plans(const Job& job, std::span<const Introduction> parties) {
  for (const Introduction& said : parties) {
    const auto plan = privacy::parse_plan(said.plan, said.party + " (plan)");
    if (!plan || plan->events.empty() || plan->neighbours != job.privacy->neighbours)
      return fail(failed("party '" + said.party + "' does not say what a private run would charge it"));
  }
  return {};
}

}  // namespace

Result<Coordinated> coordinate(const Job& job, rounds::Exchange& exchange, const AfterRound& after) {
  Coordinated run;
  PARLEY_TRY(const auto introductions, exchange.open());
  if (!introductions) {
    run.learnt.stop = algorithms::Stop::kInterrupted;
    return run;
  }
  for (const int party : exchange.left_out()) run.left_out.push_back(job.parties[static_cast<std::size_t>(party)].name);
  for (std::size_t p = 0; p < introductions->size(); ++p) {
    if (contains(run.left_out, job.parties[p].name)) continue;
    PARLEY_TRY(run.parties.emplace_back(), wire::decode<Introduction>((*introductions)[p]));
    if (run.parties.back().party != job.parties[p].name)
      return fail(failed("party '" + job.parties[p].name + "' introduced itself under another name"));
  }
  PARLEY_CHECK(job.federation->check(job, run.parties));
  if (job.privacy) PARLEY_CHECK(check_plans(job, run.parties));
  exchange.limit_replies(job.federation->largest_reply(job, run.parties));
  PARLEY_TRY(run.learnt, job.federation->coordinate(job, run.parties, exchange, after));
  run.communication = exchange.meter().communication();
  run.wait_seconds = exchange.wait_seconds();
  return run;
}

std::size_t records_of(const Federation& federation, std::span<const Introduction> parties) {
  std::size_t records = 0;
  for (const Introduction& party : parties)
    records = static_cast<std::size_t>(party.rows) + (federation.holding() == privacy::Holding::kSameRecords ? 0 : records);
  return records;
}

namespace {

rounds::GateOfRound gate_of(const PartyTable& table) {
  if (!table.site) return rounds::without_privacy(privacy::Unprotected{});
  return [site = table.site](std::int64_t round) -> Result<privacy::Gate*> {
    PARLEY_CHECK(site->gate().begin_round(round));
    return &site->gate();
  };
}

}  // namespace

Result<rounds::Admission> admit(const Job& job, const PartyTable& table) {
  PARLEY_TRY(std::unique_ptr<rounds::Responder> party, job.federation->responder(job, table, gate_of(table)));
  rounds::Admission admission;
  admission.party = std::move(party);
  if (const auto& site = table.site) {
    PARLEY_CHECK(site->expect([&](privacy::Gate& gate) { return job.federation->reserve(job, table, gate); }));
    admission.drawn = [site] { return wire::encode(site->gate().progress()); };
    admission.leaving = [site](std::int64_t round, std::string_view answer) { return site->leaving(round, answer); };
  }
  admission.introduction = wire::encode(introduce(table));
  return admission;
}

}  // namespace parley::catalog
