// Who a site is to the other parties of a job, from its identity and the [[peer]] entries of its site file.
#pragma once
#include <memory>

#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/jobs/site.h"
#include "parley/secure/peers.h"

namespace parley::runs {

// Null where the site has no identity. A site that pins anybody takes part with pinned parties only: else a job could
// undo the pins by naming one party more. `number`: the site's own in the job.
Result<std::shared_ptr<const secure::Peers>> peers_of(const jobs::Site& site, const jobs::Job& job, int number);

}  // namespace parley::runs
