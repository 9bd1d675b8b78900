#include "parley/privacy/ledger/ledger_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "parley/core/files.h"

namespace parley::privacy {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kMarker =
    "A ledger was made in this folder: ledger.sqlite, with ledger.sqlite-wal and ledger.sqlite-shm beside it while it "
    "is in\n"
    "use. Copy or move the folder as a whole. While this file is here a missing or empty ledger.sqlite is refused, "
    "because a\n"
    "fresh one would forget what was spent.\n";

fs::path marker_in(const std::string& folder) {
  return fs::path(folder) / "ledger.made";
}

// A new name in a folder survives a power cut once the folder itself is synced.
Result<void> sync_folder(const std::string& folder) {
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = handle >= 0 && ::fsync(handle) == 0;
  const int error = errno;
  if (handle >= 0) ::close(handle);
  if (!synced)
    return fail(failed(fmt::format("ledger {}: the folder cannot be synced: {}", folder, std::strerror(error))));
  return {};
}

}  // namespace

std::string database_in(const std::string& folder) {
  return (fs::path(folder) / "ledger.sqlite").string();
}

Result<bool> holds_database(const std::string& folder) {
  std::error_code unknown;
  // The marker first: who makes a ledger writes it last.
  const bool marked = fs::exists(marker_in(folder), unknown);
  const std::string file = database_in(folder);
  if (!fs::exists(file, unknown)) {
    if (marked)
      return fail(failed(
          fmt::format("ledger {}: is gone, though a ledger was made here (ledger.made says so): what was spent is not "
                      "known, so nothing is released; restore the folder from a copy",
                      file)));
    return false;
  }
  if (fs::is_regular_file(file, unknown) && fs::file_size(file, unknown) == 0)
    return fail(failed(
        fmt::format("ledger {}: is empty, and Parley never leaves one so: what was spent is not known, so nothing is "
                    "released; restore the folder from a copy",
                    file)));
  return true;
}

Result<void> make_database(const std::string& folder,
                           const std::function<Result<void>(const std::string& file)>& make) {
  std::string making = (fs::path(folder) / "ledger.making.XXXXXX").string();
  const int handle = ::mkstemp(making.data());
  if (handle < 0)
    return fail(failed(fmt::format("ledger {}: cannot be made: does the folder exist and may you write there? ({})",
                                   database_in(folder), std::strerror(errno))));
  // mkstemp makes the file for its owner alone; a ledger gets what the umask allows.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const bool shared = ::fchmod(handle, 0666 & ~mask) == 0;
  ::close(handle);
  if (!shared)
    return fail(failed(fmt::format("ledger {}: cannot be made: {}", database_in(folder), std::strerror(errno))));
  auto made = make(making);
  if (made && ::link(making.c_str(), database_in(folder).c_str()) != 0 && errno != EEXIST)
    made = fail(failed(fmt::format("ledger {}: cannot be made: {}", database_in(folder), std::strerror(errno))));
  for (const char* part : {"", "-wal", "-shm", "-journal"}) ::unlink((making + part).c_str());
  PARLEY_CHECK(made);
  return sync_folder(folder);
}

Result<void> mark(const std::string& folder) {
  std::error_code unknown;
  if (fs::exists(marker_in(folder), unknown)) return {};
  PARLEY_CHECK(write_atomically(marker_in(folder).string(), kMarker));
  return sync_folder(folder);
}

}  // namespace parley::privacy
