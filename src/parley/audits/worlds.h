// The two worlds of the membership game: tables that differ in one unit, as the job's claim says, and in nothing else.
//
// They are made from what is public alone - the job and its schemas - and not from anybody's data: a claim holds for
// all data, so an attacker may choose it. The unit that differs stands first, among records that say nothing (a quiet
// crowd) or among random ones. Its values lie beyond every public bound in one world, so that a bound that is not
// enforced shows, and just within the opposite bounds in the other, off every grid, so that a value that is not rounded
// shows.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "parley/catalog/party_table.h"
#include "parley/core/result.h"
#include "parley/jobs/job.h"

namespace parley::audits {

struct World {
  std::vector<std::string> tables;  // the text of every party's table, in the job's order
};

// A pair of neighbours.
struct Pair {
  std::string name;  // says how they differ
  World in;
  World out;
};

// `records` of every party's table. Worst cases first.
Result<std::vector<Pair>> pairs_of(const jobs::Job& job, std::size_t records);

// Random records whose labels are these, the positive class where true.
Result<World> world_of_labels(const jobs::Job& job, const std::vector<bool>& positive);

// Tables that are read from a world; it must outlive them.
catalog::Sources sources_of(const World& world, const jobs::Job& job);

}  // namespace parley::audits
