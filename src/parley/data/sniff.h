// CSV or LIBSVM? Decided by the first lines of content, never by the file's name.
#pragma once
#include <string>

#include "parley/core/result.h"
#include "parley/data/decompress.h"
#include "parley/data/schema.h"

namespace parley::data {

// LIBSVM when the first line that holds an index:value pair or a cell delimiter reads as LIBSVM. An error says what else
// a file is that is neither (foreign.h).
Result<Format> sniff_format(const OpenBytes& open, const std::string& file_name);

}  // namespace parley::data
