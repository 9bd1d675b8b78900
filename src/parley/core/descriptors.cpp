#include "parley/core/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <limits>

namespace parley {

namespace {

// Some programs walk through every descriptor that could be open; beyond this nobody here has a use for one.
constexpr rlim_t kEnough = 1 << 20;

}  // namespace

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < std::min(limit.rlim_max, kEnough)) {
    limit.rlim_cur = std::min(limit.rlim_max, kEnough);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  return descriptor_limit();
}

std::size_t descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? std::numeric_limits<int>::max() : static_cast<std::size_t>(limit.rlim_cur);
}

std::size_t open_descriptors() {
  std::size_t open = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end; at.increment(error))
    ++open;
  return open;
}

}  // namespace parley
