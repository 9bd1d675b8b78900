// Runs a job: read, scale, train, measure. On one site, or with all parties in this process. The one way in, whatever
// the rows come from:
//
//   run(job, watch)                                           the files that the job names
//   run(job, {{data::Source::arrays("here", arrays)}}, watch) a table in memory
#pragma once
#include "parley/catalog/party_table.h"
#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/runs/outcome.h"
#include "parley/runs/watch.h"

namespace parley::runs {

Result<Outcome> run(const jobs::Job& job, const Watch& watch);
// `sources`: one for each party of the job, in its order.
Result<Outcome> run(const jobs::Job& job, const catalog::Sources& sources, const Watch& watch);

}  // namespace parley::runs
