// Any bytes as a job: read or refused in one line, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parley/catalog/read_job.h"
#include "tests/fuzz/properties.h"

using namespace parley;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  // Up to the first zero byte the job, after it one override.
  const std::size_t cut = text.find('\0');
  auto toml = Toml::parse(text.substr(0, cut), "job.toml");
  if (!toml) {
    fuzz::check_error(toml.error());
    return 0;
  }
  if (cut != std::string_view::npos) {
    if (const auto set = toml->set(text.substr(cut + 1)); !set) {
      fuzz::check_error(set.error());
      return 0;
    }
  }
  if (const auto job = catalog::parse_job(*toml, "job.toml"); !job) fuzz::check_error(job.error());
  return 0;
}
