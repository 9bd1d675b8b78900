// What a job says about its tables, as algorithms and models need it.
#pragma once
#include <cstddef>

#include "parley/algorithms/relational/table_share.h"
#include "parley/jobs/job.h"
#include "parley/models/join_of_parts.h"

namespace parley::catalog {

// The table with the labels: the one that the job names, or the left one of its first [[join]].
std::size_t label_table(const jobs::Job& job);
// What algorithms are told of the job's tables.
algorithms::RelationalTerms relational_terms(const jobs::Job& job);
// How the tables join, for predictions by a model of this job.
models::JoinOfParts join_of_parts(const jobs::Job& job);
}  // namespace parley::catalog
