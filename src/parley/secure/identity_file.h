// Where a site keeps its identity (seal.h): beside its certificate, in a file for its user alone.
#pragma once
#include <string>

#include "parley/secure/seal.h"

namespace parley::secure {

std::string identity_file(const std::string& folder, const std::string& name);
// Refuses a file that others can read or replace: whoever has it can pose as the site towards the other sites, for as
// long as they pin it.
Result<Identity> read_identity(const std::string& file);
// Refuses to replace one.
Result<void> write_identity(const Identity& identity, const std::string& file);

}  // namespace parley::secure
