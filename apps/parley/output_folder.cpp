#include "apps/parley/output_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "apps/parley/finished_run.h"
#include "parley/models/model_parts.h"

namespace parley::app {

Result<void> make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (std::error_code unknown; error || !std::filesystem::is_directory(folder, unknown))
    return fail(bad_input({folder, 0, ""},
                          "the output folder cannot be made" + (error ? ": " + error.message() : std::string{})));
  return {};
}

Result<void> check_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::path at = std::filesystem::absolute(folder, error);
  while (!error && !std::filesystem::exists(at, error) && !error && at.has_parent_path()) at = at.parent_path();
  // Through a file nothing is reached; the next line says it in words.
  if (error == std::errc::not_a_directory) error.clear();
  if (error) return fail(bad_input({folder, 0, ""}, "the output folder cannot be made: " + error.message()));
  if (!std::filesystem::is_directory(at, error))
    return fail(bad_input({folder, 0, ""}, "the output folder cannot be made: a file is in the way"));
  // Before anything is paid for.
  if (::access(at.c_str(), W_OK | X_OK) != 0)
    return fail(bad_input({folder, 0, ""}, std::string("cannot be written to: ") + std::strerror(errno)));
  return {};
}

Result<void> check_replaceable(const std::string& folder) {
  PARLEY_TRY(const bool paid, models::holds_private_model(folder));
  if (paid)
    return fail(
        bad_input({(std::filesystem::path(folder) / "model.json").string(), 0, ""},
                  "is a private model that a budget paid for, and is kept; name another --out, or --overwrite it"));
  if (const std::string file = tells_of_private_run(folder); !file.empty())
    return fail(
        bad_input({file, 0, ""},
                  "is of a private run that a budget paid for, and is kept; name another --out, or --overwrite it"));
  return {};
}

}  // namespace parley::app
