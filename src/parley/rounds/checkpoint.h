// What a coordinator needs to go on after it was stopped or killed: kept when the run is named, when it begins (before
// the first task leaves) and after every round, before the next is asked.
//
// Who takes part is settled when the run begins: a coordinator that comes back asks the same parties, by what they said
// of themselves then, and so for the same first task. Before that it asks everybody anew.
//
// Killed before round r was kept, it asks for round r again and gets the same bytes from every party
// (handler.h); killed after, it asks for round r + 1. Either way the run ends in the same bits.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/rounds/meter.h"
#include "parley/wire/frame.h"

namespace parley::rounds {

struct Checkpoint {
  std::string job;  // its text: a checkpoint belongs to one job
  std::vector<std::string> introductions;
  std::vector<int> left_out;  // parties without which the run began
  std::string iterate;        // encoded; empty before the first round
  Communication communication;
  bool begun = false;  // a task may have left
  static void fields(auto& self, auto&& visit) {
    visit(self.job, self.introductions, self.left_out, self.iterate, self.communication, self.begun);
  }

  wire::RunId run{};       // in the frame's header, not in its payload
  std::int64_t round = 0;  // likewise
};

Result<void> save(const Checkpoint& checkpoint, const std::string& path);
// Nothing when there is no such file.
Result<std::optional<Checkpoint>> load_checkpoint(const std::string& path);

}  // namespace parley::rounds
