// What a job says about its tables, as algorithms and models need it.
#pragma once
#include "parley/algorithms/relational/table_share.h"
#include "parley/jobs/job.h"
#include "parley/models/join_of_parts.h"

namespace parley::catalog {

// What algorithms are told of the job's tables.
algorithms::RelationalTerms relational_terms(const jobs::Job& job);
// How the tables join, for predictions by a model of this job.
models::JoinOfParts join_of_parts(const jobs::Job& job);
}  // namespace parley::catalog
