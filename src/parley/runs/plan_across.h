// What a job of several parties would do, before it is run (plan.h): what each party would release at which noise and
// cost, what a record costs in all, how many rounds and bytes there are at most, and what the job cannot do.
#pragma once
#include <string>

#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/runs/job_plan.h"

namespace parley::runs {

Result<JobPlan> plan_across(const jobs::Job& job);
std::string plan_across_json(const jobs::Job& job, const JobPlan& plan);
std::string plan_across_table(const jobs::Job& job, const JobPlan& plan);

}  // namespace parley::runs
