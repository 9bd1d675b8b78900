// What a federated run may claim as a whole, from what its parties charged or said that they will.
#pragma once
#include <string>
#include <vector>

#include "parley/jobs/introduction.h"
#include "parley/jobs/job.h"
#include "parley/runs/claim.h"

namespace parley::runs {

// A party's part, from what it said about itself before the first round. It charges that or less, so the
// claim holds. What its budget is and what was spent of it is its own business; `releases` are those it pays
// for.
Result<PrivacyReport> report_of(const jobs::Job& job, const jobs::Introduction& said, int party);

// What the run costs a record in all: of the party that holds it, or of all parties that hold a part of it. `first`:
// what the first of them said of itself, for a delta that the job leaves open.
Result<PrivacyReport> privacy_across(const jobs::Job& job, const jobs::Introduction& first,
                                     const std::vector<PrivacyReport>& parties);

}  // namespace parley::runs
