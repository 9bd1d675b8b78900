// What a site decides about a job that a coordinator sends: admitted within the site's limits, or refused. Everything
// that could speak about the data stays in the error, which stays at the site.
#pragma once
#include <functional>
#include <string>

#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/jobs/site.h"
#include "parley/rounds/handler.h"
#include "parley/runs/private_site.h"

namespace parley::runs {

// An error when private runs were admitted with the site's state folder and their ledger is gone or an older copy: a
// new one would be a whole new budget for the same records, an older one a part of it. Looked at when the site starts
// and when a private run is opened.
Result<void> check_ledger(const jobs::Site& site);
// Writes down in the state folder that private runs were admitted with it; on disk before the first can be charged.
Result<void> remember_private_runs(const jobs::Site& site);

// Where a site keeps its part of a model whose parts stay with the parties.
std::string part_in(const std::string& state, const wire::RunId& run);

// What a private run is called in the ledger of a party, among all runs and jobs, and how far it had got here.
Result<PaidRun> paid_run(const jobs::Job& job, const rounds::Opening& opening);

// For the site's account: what is worth a line.
using Tell = std::function<void(const std::string&)>;

// The site's decision about a job: its table is read and checked against its limits. Everything that could speak about
// the data stays in the error, which stays at the site. Nothing is charged yet.
Result<rounds::Admission> admit(const jobs::Site& site, const rounds::Opening& opening, const Tell& tell);

}  // namespace parley::runs
