// What a job would do, before it is run: what a private run would release, at which noise against the largest signal
// that any data could have, what that costs, and what it needs of memory. The trainer itself is asked, with a gate that
// notes its reservation and refuses it: nothing is charged and nothing is released.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parley/catalog/catalog.h"
#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/runs/join_plan.h"
#include "parley/runs/private_site.h"

namespace parley::runs {

struct PlannedRelease {
  privacy::Event event;
  double noise_to_signal = 0;
  double share = 0;  // of the run's zCDP cost; 0 when a release has none
};

struct JobPlan {
  std::size_t records = 0;
  std::size_t columns = 0;
  std::size_t memory_bytes = 0;                 // of the features and a trainer's vectors, about
  std::optional<PrivacyReport> privacy;         // as the run would claim it; absent: the run is not private
  std::int64_t steps = 0;                       // of the reservation
  std::int64_t fitting_steps = 0;               // those the budget of the site's ledger still holds
  std::optional<std::int64_t> quiet_steps;      // the most steps whose noise stays below a tenth of the largest signal
  std::optional<std::int64_t> suggested_steps;  // those an algorithm takes where the job states none
  std::vector<PlannedRelease> releases;
  // the least that a private estimate can say of a column, as a share of its bound's
  std::optional<double> smoothness_floor;
  std::optional<catalog::RiskOrder> risk;
  std::vector<std::string> warnings;
  std::optional<JoinPlan> join;  // of a job over several tables, which has no more of a plan than that
};

Result<JobPlan> plan_job(const jobs::Job& job);

std::string plan_json(const jobs::Job& job, const JobPlan& plan);
std::string plan_table(const jobs::Job& job, const JobPlan& plan);

}  // namespace parley::runs
