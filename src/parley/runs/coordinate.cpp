#include "parley/runs/coordinate.h"

#include <algorithm>

#include "parley/catalog/method.h"

namespace parley::runs {

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What a party says about itself, if it can be true.
Result<jobs::Introduction> believed(const jobs::Job& job, int party, std::string_view introduction) {
  PARLEY_TRY(jobs::Introduction said, wire::decode<jobs::Introduction>(introduction));
  PARLEY_CHECK(catalog::federation_of(job)->check_one(job, party, said));
  return said;
}

// By a word of its own about columns or classes no party keeps the others from learning together.
Result<void> leave_out_the_outvoted(const jobs::Job& job, rounds::Exchange& exchange, Coordinated& run) {
  const std::vector<std::size_t> places = catalog::federation_of(job)->outvoted(run.parties);
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    const std::string name = run.parties[*place].party;
    const auto party = std::find_if(job.parties.begin(), job.parties.end(),
                                    [&](const jobs::PartySection& each) { return each.name == name; });
    PARLEY_CHECK(exchange.leave_out(static_cast<int>(party - job.parties.begin()),
                                    "has other columns, bounds or classes than most"));
    run.parties.erase(run.parties.begin() + static_cast<std::ptrdiff_t>(*place));
    run.left_out.push_back(name);
  }
  return {};
}

}  // namespace

Result<Coordinated> coordinate(const jobs::Job& job, rounds::Exchange& exchange, const catalog::Watching& watching) {
  const catalog::Federation& federation = *catalog::federation_of(job);
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
      return fail(failed("party '" + job.parties[p].name +
                         "' introduced itself in a way that cannot be used: " + said.error().message));
    run.parties.push_back(std::move(*said));
  }
  if (run.parties.empty()) return fail(failed("no party takes part"));
  if (job.rules.on_missing == rounds::OnMissing::kProceed) PARLEY_CHECK(leave_out_the_outvoted(job, exchange, run));
  PARLEY_CHECK(federation.check(job, run.parties));
  PARLEY_TRY(const std::size_t largest, federation.largest_reply(job, run.parties));
  exchange.limit_replies(largest);
  PARLEY_TRY(run.learnt, federation.learn(job, run.parties, exchange, watching));
  run.communication = exchange.meter().communication();
  run.wait_seconds = exchange.wait_seconds();
  return run;
}

}  // namespace parley::runs
