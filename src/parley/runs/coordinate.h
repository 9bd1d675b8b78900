// The coordinator's end of a federated job on any transport: opens the job at every party, checks that they fit
// together, runs the rounds. A party's end: member.h.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "parley/catalog/federation.h"
#include "parley/rounds/exchange.h"

namespace parley::runs {

struct Coordinated {
  std::vector<jobs::Introduction> parties;  // that take part
  std::vector<std::string> left_out;        // names of those without which the run began
  catalog::Learnt learnt;
  rounds::Communication communication;
  double wait_seconds = 0;
};

// The parties of the exchange are the job's. Closing the run is left to the caller, once its result is safe; one that
// was stopped goes on from its checkpoint.
Result<Coordinated> coordinate(const jobs::Job& job, rounds::Exchange& exchange, const catalog::Watching& watching);

}  // namespace parley::runs
