// Files that hold tables in a form that is not read here, told by how they begin: what they are and what to do.
#pragma once
#include <string>
#include <string_view>

#include "parley/core/result.h"

namespace parley::data {

// An error that says so in one line; nothing for any other text. `start` is the beginning of the content.
Result<void> refuse_foreign(std::string_view start, const std::string& file_name);

}  // namespace parley::data
