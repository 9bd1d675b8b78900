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
#include <thread>
#include <vector>

namespace parley {

namespace {

Error cannot(const char* action, const std::string& path) {
  return unavailable(fmt::format("{}: cannot be {}: {}", path, action, std::strerror(errno)));
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

constexpr std::string_view kUnfinished = ".parley-";  // and six letters or digits: nobody else gives a file such a name
constexpr std::size_t kLetters = 6;

bool is_unfinished(const std::string& name) {
  if (name.size() < kUnfinished.size() + kLetters) return false;
  const std::string_view end = std::string_view(name).substr(name.size() - kUnfinished.size() - kLetters);
  return end.starts_with(kUnfinished) &&
         std::all_of(end.begin() + kUnfinished.size(), end.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
}

// A file that nobody else has, locked as long as it is open. Whoever removes unfinished files may have taken it between
// being made and being locked: then another is made.
int make_unfinished(const std::string& path, std::string& name) {
  while (true) {
    name = path + std::string(kUnfinished) + std::string(kLetters, 'X');
    const int file = ::mkostemp(name.data(), O_CLOEXEC);
    if (file < 0) return file;
    struct stat made {};
    const bool taken =
        ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;  // some file systems have no locks
    if (!taken && ::fstat(file, &made) == 0 && made.st_nlink > 0) return file;
    ::close(file);
  }
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path, std::chrono::milliseconds patience) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return fail(cannot("locked", path));
  const auto until = std::chrono::steady_clock::now() + patience;
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() >= until) {
      const Error error =
          errno == EWOULDBLOCK ? unavailable(path + ": another process holds it") : cannot("locked", path);
      ::close(file);
      return fail(error);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return FileLock(file);
}

FileLock::~FileLock() {
  if (file_ >= 0) ::close(file_);
}

Result<void> write_atomically(const std::string& name, std::string_view content) {
  // A rename would put a file in the place of a link, a device or a pipe.
  PARLEY_TRY(const std::string path, end_of_links(name));
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    return fail(bad_input({name, 0, ""}, S_ISDIR(there.st_mode) ? "is a folder; a file is wanted"
                                                                : "is not a regular file, and is left as it is"));
  std::string temporary;
  const int file = make_unfinished(path, temporary);
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
  // Renamed while its lock is held, and then no longer unfinished.
  if (::rename(temporary.c_str(), path.c_str()) != 0) return give_up();
  if (::close(file) != 0) return fail(cannot("written", path));
  // The new name lasts through a power cut once its folder is on disk too.
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return fail(cannot("written", path));
  const bool synced = ::fsync(directory) == 0 || errno == EINVAL;  // some file systems have nothing to sync
  ::close(directory);
  if (!synced) return fail(cannot("written", path));
  return {};
}

void remove_unfinished(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> found;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (is_unfinished(at->path().filename().string())) found.push_back(at->path().string());
  for (const std::string& name : found) {
    const int file = ::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    struct stat there {};
    if (::fstat(file, &there) == 0 && S_ISREG(there.st_mode) && ::flock(file, LOCK_EX | LOCK_NB) == 0)
      ::unlink(name.c_str());
    ::close(file);
  }
}

Result<void> refuse_input(const std::string& output, std::span<const std::string> inputs) {
  for (const std::string& input : inputs) {
    std::error_code absent;
    if (std::filesystem::equivalent(output, input, absent))
      return fail(
          bad_input({output, 0, ""}, output == input ? "is the file to read" : "is the file to read, " + input));
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
