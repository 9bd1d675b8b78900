// A federated job with all its parties in this process: the same handlers, exchange and bytes as between machines.
#pragma once
#include "parley/catalog/party_table.h"
#include "parley/jobs/job.h"
#include "parley/runs/outcome.h"
#include "parley/runs/watch.h"

namespace parley::runs {

Result<Outcome> simulate(const jobs::Job& job, const catalog::Sources& sources, const Watch& watch);

}  // namespace parley::runs
