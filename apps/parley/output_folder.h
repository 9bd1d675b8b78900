// Where a verb puts its results.
#pragma once
#include <string>

#include "parley/core/result.h"

namespace parley::app {

// Made only when there is something to put in, so that a refused job leaves nothing behind.
Result<void> make_folder(const std::string& folder);
// Said before the work, not after it.
Result<void> check_folder(const std::string& folder);
// A model without privacy can be made again for nothing, and a new run takes its place; a private one has cost budget,
// also where the parties keep its parts.
Result<void> check_replaceable(const std::string& folder);

}  // namespace parley::app
