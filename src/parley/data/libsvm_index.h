// The indices of LIBSVM files: how large one may be, and when the columns that they span are too many to keep.
#pragma once
#include <cstdint>
#include <limits>
#include <string>

#include "parley/linalg/storage.h"

namespace parley::data {

// Indices are at most 2^31 - 2, so that their number has 31 bits too.
inline constexpr std::int64_t kLargestIndex = std::numeric_limits<linalg::Index>::max() - 1;
// The rule that a larger one breaks, for errors.
std::string largest_index_rule();

// Whether only the columns that occur are kept of a table that reaches so many: an empty column costs memory too.
bool is_mostly_empty(std::int64_t columns, std::int64_t entries);

}  // namespace parley::data
