// parley train --transport mpi: the parties of a federation as ranks of an MPI program.
//
// The ranks live and die together. What a daemon and its coordinator keep between rounds is kept here too, so a run
// that was killed and is started again goes on, under the charge it has paid: OUT/checkpoint by rank 0, OUT/ranks/PARTY
// by every rank. Both go when the result is safe.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "parley/runs/outcome.h"

namespace parley::app {

struct MpiRun {
  std::string out;
  bool quiet = false;
  std::function<Result<void>(const runs::Outcome&)> keep;  // makes the result safe
};

inline std::string checkpoint_in(const std::string& out) {
  return out + "/checkpoint";
}

// At rank 0 what was learnt; nothing at the other ranks. Every rank reads its own party's table only.
// Without MPI in the build: an error that says so.
Result<std::optional<runs::Outcome>> train_mpi(const jobs::Job& job, const MpiRun& options);

}  // namespace parley::app
