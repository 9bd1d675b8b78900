// The two ends of a federated job on any transport.
//
//   coordinator:  opens the job at every party, checks that they fit together, runs the rounds
//   party:        what it answers with, and what it says about itself, from its own files alone
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "parley/catalog/federation.h"
#include "parley/rounds/exchange.h"
#include "parley/rounds/handler.h"

namespace parley::catalog {

struct Coordinated {
  std::vector<Introduction> parties;  // that take part
  std::vector<std::string> left_out;  // names of those without which the run began
  Learnt learnt;
  rounds::Communication communication;
  double wait_seconds = 0;
};

// The parties of the exchange are the job's. Closing the run is left to the caller, once its result is safe; one that was
// stopped goes on from its checkpoint.
Result<Coordinated> coordinate(const Job& job, rounds::Exchange& exchange, const AfterRound& after);

// How many records the parties train on together, as they said: each is counted once, also where every party has a part of it.
std::size_t records_of(const Federation& federation, std::span<const Introduction> parties);

// A party ready to answer. Of a private run: it has a site (party_table.h), whose budget holds at least a
// step of what the run will draw; nothing is charged before the first task. `table` stays with the caller.
Result<rounds::Admission> admit(const Job& job, const PartyTable& table);

}  // namespace parley::catalog
