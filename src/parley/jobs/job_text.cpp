#include "parley/jobs/job_text.h"

#include <utility>

#include "parley/core/files.h"

namespace parley::jobs {

namespace {

constexpr std::size_t kLargestJob = std::size_t{1} << 20;

}  // namespace

Result<JobText> read_job_text(const std::string& path, const std::vector<std::string>& overrides) {
  PARLEY_TRY(std::string text, read_whole(path, kLargestJob));
  return JobText{path, std::move(text), overrides};
}

}  // namespace parley::jobs
