#include "parley/data/libsvm_index.h"

#include <fmt/format.h>

namespace parley::data {

namespace {

// Beyond both limits only the columns that occur are kept.
constexpr std::int64_t kManyColumns = std::int64_t{1} << 20;
constexpr std::int64_t kColumnsPerEntry = 16;

}  // namespace

std::string largest_index_rule() {
  return fmt::format("must be at most {}", kLargestIndex);
}

bool is_mostly_empty(std::int64_t columns, std::int64_t entries) {
  return columns > kManyColumns && columns > kColumnsPerEntry * (entries + 1);
}

}  // namespace parley::data
