// An audit of a job: the game on pairs of worlds, and where labels alone are protected the game with many canaries.
#pragma once
#include "parley/audits/game.h"
#include "parley/jobs/job.h"

namespace parley::audits {

// `records` of each table that is made, where the job does not state how many there are.
Result<Audited> audit(const jobs::Job& job, std::size_t records, const GameSettings& settings);

}  // namespace parley::audits
