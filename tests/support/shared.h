// Where the public data sets and reference values are, when they are there: the folder named by
// PARLEY_SHARED, else `shared` beside the source tree.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <optional>

namespace parley::test {

inline std::optional<std::filesystem::path> shared() {
  const char* const named = std::getenv("PARLEY_SHARED");
  const std::filesystem::path folder =
      named != nullptr ? std::filesystem::path(named) : std::filesystem::path(PARLEY_SOURCE_DIR) / ".." / "shared";
  std::error_code error;
  if (!std::filesystem::is_directory(folder / "data", error)) return std::nullopt;
  return folder;
}

}  // namespace parley::test
