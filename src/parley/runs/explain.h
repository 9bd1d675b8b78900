// "What leaves my site?": one page about a job for whoever answers for the people whose data a site holds. What the
// algorithm sends is in its own words (algorithms/parts/leaving.h); what every party says of itself, what it costs and
// what stays is the same for all.
#pragma once
#include <optional>
#include <string>

#include "parley/jobs/job.h"
#include "parley/jobs/site.h"

namespace parley::runs {

// `site`: whose limits and peers the page is about; none: of any party.
std::string explain(const jobs::Job& job, const std::optional<jobs::Site>& site);

}  // namespace parley::runs
