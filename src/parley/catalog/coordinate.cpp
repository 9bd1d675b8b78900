#include "parley/catalog/coordinate.h"

#include <algorithm>

#include "parley/catalog/private_site.h"

namespace parley::catalog {

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What a party says about itself, if it can be true.
Result<Introduction> believed(const Job& job, int party, std::string_view introduction) {
  PARLEY_TRY(Introduction said, wire::decode<Introduction>(introduction));
  PARLEY_CHECK(job.federation->check_one(job, party, said));
  return said;
}

// By a word of its own about columns or classes no party keeps the others from learning together.
Result<void> leave_out_the_outvoted(const Job& job, rounds::Exchange& exchange, Coordinated& run) {
  const std::vector<std::size_t> places = job.federation->outvoted(run.parties);
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    const std::string name = run.parties[*place].party;
    const auto party = std::find_if(job.parties.begin(), job.parties.end(), [&](const Party& each) { return each.name == name; });
    PARLEY_CHECK(exchange.leave_out(static_cast<int>(party - job.parties.begin()), "has other columns, bounds or classes than most"));
    run.parties.erase(run.parties.begin() + static_cast<std::ptrdiff_t>(*place));
    run.left_out.push_back(name);
  }
  return {};
}

}  // namespace

Result<Coordinated> coordinate(const Job& job, rounds::Exchange& exchange, const AfterRound& after) {
  Coordinated run;
  const auto check = [&](int party, std::string_view introduction) -> Result<void> {
    PARLEY_CHECK(believed(job, party, introduction));
    return {};
  };
  PARLEY_TRY(const auto introductions, exchange.open({.introduction = check, .budgets = job.privacy.has_value()}));
  if (!introductions) {
    run.learnt.stop = algorithms::Stop::kInterrupted;
    return run;
  }
  for (const int party : exchange.left_out()) run.left_out.push_back(job.parties[static_cast<std::size_t>(party)].name);
  for (std::size_t p = 0; p < introductions->size(); ++p) {
    if (contains(run.left_out, job.parties[p].name)) continue;
    auto said = believed(job, static_cast<int>(p), (*introductions)[p]);  // also what a checkpoint brings back
    if (!said)
      return fail(failed("party '" + job.parties[p].name + "' introduced itself in a way that cannot be used: " + said.error().message));
    run.parties.push_back(std::move(*said));
  }
  if (run.parties.empty()) return fail(failed("no party takes part"));
  if (job.rules.on_missing == rounds::OnMissing::kProceed) PARLEY_CHECK(leave_out_the_outvoted(job, exchange, run));
  PARLEY_CHECK(job.federation->check(job, run.parties));
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
  if (!job.privacy) admission.rounds = job.federation->rounds(job);  // of a private run its gate counts what it draws
  if (const auto& site = table.site) {
    PARLEY_CHECK(site->expect([&](privacy::Gate& gate) { return job.federation->reserve(job, table, gate); }));
    admission.drawn = [site] { return wire::encode(site->gate().progress()); };
    admission.leaving = [site](std::int64_t round, std::string_view answer) { return site->leaving(round, answer); };
  }
  admission.introduction = wire::encode(introduce(table));
  return admission;
}

}  // namespace parley::catalog
