// parley train --transport mpi: the parties of a federation as ranks of an MPI program.
#pragma once
#include <optional>

#include "parley/catalog/run.h"

namespace parley::app {

// At rank 0 what was learnt; nothing at the other ranks. Every rank reads its own party's table only.
#ifdef PARLEY_MPI
Result<std::optional<catalog::Outcome>> train_mpi(const catalog::Job& job);
#else
inline Result<std::optional<catalog::Outcome>> train_mpi(const catalog::Job&) {
  return fail(bad_input({.field = "--transport"}, "this build has no MPI: it was not there when Parley was configured", "mpi"));
}
#endif

}  // namespace parley::app
