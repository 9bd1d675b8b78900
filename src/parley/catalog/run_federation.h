// Runs a federated job with all its parties in this process: the same handlers, exchange and bytes as between machines.
#pragma once
#include "parley/catalog/run.h"

namespace parley::catalog {

Result<Outcome> run_federation(const Job& job, const Watch& watch);

}  // namespace parley::catalog
