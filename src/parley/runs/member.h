// A party of a run in this program: its table and, in a private run, the site that pays.
#pragma once
#include <memory>
#include <optional>

#include "parley/catalog/party_table.h"
#include "parley/core/result.h"
#include "parley/jobs/introduction.h"
#include "parley/jobs/job.h"
#include "parley/rounds/handler.h"
#include "parley/runs/private_site.h"

namespace parley::runs {

struct Member {
  catalog::PartyTable table;
  std::shared_ptr<PrivateSite> site = {};  // of a private run
  bool ids_are_public = true;              // may be said as a digest, to find parties out of step
};

// Opens the party's ledger and gate for a private run; the table's features become those of the site.
Result<void> open_site(const jobs::Job& job, const glm::Objective& objective, Member& member, const PaidRun& run);
// The same without a ledger, for planning: what is reserved is noted and refused.
Result<void> open_rehearsal(const jobs::Job& job, const glm::Objective& objective, Member& member);
// What the noise of a party comes from in a simulation.
std::optional<std::int64_t> noise_seed(const jobs::Job& job, int party);

// What the party says about itself.
jobs::Introduction introduce(const Member& member);

// The party, ready to answer. Of a private run: its budget holds at least a step of what the run will draw; nothing is
// charged before the first task. `member` stays with the caller.
Result<rounds::Admission> admission_of(const jobs::Job& job, const Member& member);

}  // namespace parley::runs
