// Tables of PostgreSQL in a build without its client library: one line says what is missing and how to get it.
#include "parley/data/database.h"

namespace parley::data {

Result<std::unique_ptr<DatabaseTable>> open_postgres(const DatabaseAddress& address) {
  return fail(bad_input({address.address, 0, ""},
                        "this build has no PostgreSQL; install libpq-dev, then configure and build again"));
}

}  // namespace parley::data
