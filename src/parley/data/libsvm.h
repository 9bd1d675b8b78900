// The LIBSVM (SVMlight) text format: one record a line, "label index:value index:value ... # comment".
// Indices ascend; they count from 1, or from 0 when an index 0 occurs anywhere. "qid:" is left out.
#pragma once
#include <string>
#include <string_view>

#include "parley/core/result.h"
#include "parley/data/dataset.h"
#include "parley/data/decompress.h"
#include "parley/data/load_options.h"

namespace parley::data {

// A second pass is needed where indices are so large that empty columns would fill the memory.
Result<Dataset> read_libsvm(const OpenBytes& open, const std::string& file_name, const LoadOptions& options);

// Whether a line of a file reads as LIBSVM: a number, then index:value pairs.
bool looks_like_libsvm(std::string_view line);

}  // namespace parley::data
