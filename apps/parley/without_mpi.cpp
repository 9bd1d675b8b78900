// `--transport mpi` in a build without MPI: one line says what is missing and how to get it.
#include "apps/parley/train_mpi.h"

namespace parley::app {

Result<std::optional<runs::Outcome>> train_mpi(const jobs::Job& /*job*/, const MpiRun& /*options*/) {
  return fail(bad_input({.field = "--transport"},
                        "this build has no MPI; install libopenmpi-dev and openmpi-bin, then configure and build again",
                        "mpi"));
}

}  // namespace parley::app
