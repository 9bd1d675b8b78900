// A run over the join of several tables in one process (partition "single" with [[join]]): the join is never made.
#pragma once
#include "parley/catalog/party_table.h"
#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/runs/outcome.h"
#include "parley/runs/watch.h"

namespace parley::runs {

Result<Outcome> run_joined(const jobs::Job& job, const catalog::Sources& sources, const Watch& watch);

}  // namespace parley::runs
