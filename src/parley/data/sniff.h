// CSV or LIBSVM? Decided by the first lines of content, never by the file's name.
#pragma once
#include "parley/core/result.h"
#include "parley/data/decompress.h"
#include "parley/data/schema.h"

namespace parley::data {

// LIBSVM when the first line that holds an index:value pair or a cell delimiter reads as LIBSVM.
Result<Format> sniff_format(const OpenBytes& open);

}  // namespace parley::data
