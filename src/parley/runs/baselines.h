// What a federation is worth beside its alternatives, on data that the user holds all of: each party by itself, and all
// data in one place. Both are optima of the job's [model], found by `exact` on features that are scaled as the parties
// scale theirs, and both are measured on the rows of the federation.
//
//   parties with records   a party alone has its own rows; pooled: the rows of all
//   parties with columns   a party alone has its own columns, and the labels whoever holds them; pooled: all columns
//
// Nothing here is private, so a job with [privacy] is refused.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/models/score.h"

namespace parley::runs {

struct Baseline {
  std::string name;        // the party, or kPooled
  double objective = 0;    // on the rows that it was trained on
  double gap = 0;          // its certificate
  models::Scored train{};  // over all rows of the federation
  std::optional<models::Scored> test{};
};
inline constexpr const char* kPooled = "all data in one place";

// Whether a job can have them: looked at before it is run.
Result<void> check_baselines(const jobs::Job& job);
Result<std::vector<Baseline>> baselines_of(const jobs::Job& job);

}  // namespace parley::runs
