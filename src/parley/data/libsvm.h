// The LIBSVM (SVMlight) text format: one record a line, "label index:value index:value ... # comment".
// Indices ascend; they count from 1, or from 0 when an index 0 occurs anywhere. "qid:" is left out.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "parley/core/result.h"
#include "parley/data/chunks.h"
#include "parley/data/dataset.h"
#include "parley/data/load.h"

namespace parley::data {

// Opens the file from its beginning; indices so large that empty columns would fill the memory need
// a second pass.
using OpenBytes = std::function<Result<std::unique_ptr<ByteSource>>()>;

// Indices are at most 2^31 - 2, so that their number has 31 bits too.
inline constexpr std::int64_t kLargestIndex = std::numeric_limits<linalg::Index>::max() - 1;
// What is said of a larger one.
std::string largest_index_rule();

Result<Dataset> read_libsvm(const OpenBytes& open, const std::string& file_name, const LoadOptions& options);

// Whether only the columns that occur are kept of a table that reaches so many: an empty column costs memory too.
bool is_mostly_empty(std::int64_t columns, std::int64_t entries);

// Whether a line of a file reads as LIBSVM: a number, then index:value pairs.
bool looks_like_libsvm(std::string_view line);

}  // namespace parley::data
