#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parley/data/schema.h"
#include "tests/fuzz/properties.h"

using namespace parley;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto schema = data::parse_schema({reinterpret_cast<const char*>(bytes), size}, "f");
  if (!schema) {
    fuzz::check_error(schema.error());
    return 0;
  }
  const auto again = data::parse_schema(data::to_toml(*schema), "f");
  fuzz::require(again && *again == *schema, "a schema reads back as it was");
  return 0;
}
