// The algorithm of a job that names none, and the intercept where it says nothing of one: from what is public before any
// table is read. Each chosen name is one of the catalog (docs/algorithms.md); Job::why says the reason.
#pragma once
#include "parley/jobs/job.h"

namespace parley::jobs {

void choose_algorithm(Job& job, bool states_intercept);

}  // namespace parley::jobs
