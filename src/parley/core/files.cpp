#include "parley/core/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

namespace parley {

namespace {

Error cannot(const char* action, const std::string& path) {
  return {Fault::kFailed, fmt::format("{}: cannot be {}: {}", path, action, std::strerror(errno))};
}

// Where `path` leads through symbolic links, whether or not there is a file at the end.
Result<std::string> end_of_links(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::filesystem::path at = path;
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code none;
    const auto target = std::filesystem::read_symlink(at, none);
    if (none) return at.string();  // not a link
    at = at.parent_path() / target;
  }
  errno = ELOOP;
  return fail(cannot("written", path));
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return fail(cannot("locked", path));
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return FileLock(file);
  const Error error = errno == EWOULDBLOCK ? Error{Fault::kFailed, path + ": another process holds it"} : cannot("locked", path);
  ::close(file);
  return fail(error);
}

FileLock::~FileLock() {
  if (file_ >= 0) ::close(file_);
}

Result<void> write_atomically(const std::string& name, std::string_view content) {
  // A rename would put a file in the place of a link, a device or a pipe.
  PARLEY_TRY(const std::string path, end_of_links(name));
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    return fail(
        bad_input({name, 0, ""}, S_ISDIR(there.st_mode) ? "is a folder; a file is wanted" : "is not a regular file, and is left as it is"));
  std::string temporary = path + ".XXXXXX";
  const int file = ::mkstemp(temporary.data());
  if (file < 0) return fail(cannot("written", path));
  const auto give_up = [&] {
    const Error error = cannot("written", path);
    ::close(file);
    ::unlink(temporary.c_str());
    return fail(error);
  };
  // mkstemp makes the file for its owner alone; results get what the umask allows.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(file, 0666 & ~mask) != 0) return give_up();
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t wrote = ::write(file, content.data() + done, content.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return give_up();
    done += static_cast<std::size_t>(wrote);
  }
  if (::fsync(file) != 0) return give_up();
  if (::close(file) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const Error error = cannot("written", path);
    ::unlink(temporary.c_str());
    return fail(error);
  }
  // The new name lasts through a power cut once its folder is on disk too.
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return fail(cannot("written", path));
  const bool synced = ::fsync(directory) == 0 || errno == EINVAL;  // some file systems have nothing to sync
  ::close(directory);
  if (!synced) return fail(cannot("written", path));
  return {};
}

void remove_unfinished(const std::string& name) {
  const auto path = end_of_links(name);
  if (!path) return;
  const std::filesystem::path file(*path);
  const std::string begins = file.filename().string() + ".";
  std::error_code error;
  std::vector<std::filesystem::path> found;
  for (std::filesystem::directory_iterator at(file.has_parent_path() ? file.parent_path() : ".", error), end; !error && at != end;
       at.increment(error)) {
    const std::string other = at->path().filename().string();
    const bool is_temporary = other.size() == begins.size() + 6 && other.starts_with(begins) &&
                              std::all_of(other.begin() + static_cast<std::ptrdiff_t>(begins.size()), other.end(),
                                          [](unsigned char c) { return std::isalnum(c) != 0; });
    if (is_temporary && at->is_regular_file(error)) found.push_back(at->path());
  }
  for (const auto& unfinished : found) std::filesystem::remove(unfinished, error);
}

Result<void> refuse_input(const std::string& output, std::span<const std::string> inputs) {
  for (const std::string& input : inputs) {
    std::error_code absent;
    if (std::filesystem::equivalent(output, input, absent))
      return fail(bad_input({output, 0, ""}, output == input ? "is the file to read" : "is the file to read, " + input));
  }
  return {};
}

Result<void> refuse_existing(const std::string& output) {
  std::error_code absent;
  if (std::filesystem::exists(output, absent)) return fail(bad_input({output, 0, ""}, "exists; --force replaces it"));
  return {};
}

Result<std::string> read_whole(const std::string& path, std::size_t limit) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail(bad_input({path, 0, ""}, std::string("cannot be read: ") + std::strerror(errno)));
  std::string content;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const std::string why = std::strerror(errno);
      ::close(file);
      return fail(bad_input({path, 0, ""}, "cannot be read: " + why));
    }
    if (got == 0) break;
    content.append(buffer, static_cast<std::size_t>(got));
    if (content.size() > limit) {
      ::close(file);
      return fail(bad_input({path, 0, ""}, fmt::format("is larger than {} bytes", limit)));
    }
  }
  ::close(file);
  return content;
}

}  // namespace parley
