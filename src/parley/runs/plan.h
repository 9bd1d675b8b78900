// What a job would do, before it is run: what a private run would release, at which noise against the largest signal
// that any data could have, what that costs, and what it needs of memory. The trainer itself is asked, with a gate that
// notes its reservation and refuses it: nothing is charged and nothing is released.
#pragma once
#include <string>

#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/runs/job_plan.h"

namespace parley::runs {

Result<JobPlan> plan_job(const jobs::Job& job);

std::string plan_json(const jobs::Job& job, const JobPlan& plan);
std::string plan_table(const jobs::Job& job, const JobPlan& plan);

}  // namespace parley::runs
