// Files that are either whole or absent.
#pragma once
#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "parley/core/result.h"

namespace parley {

// Writes to a temporary file beside `path`, syncs it and renames it: readers see the old content or the new one, never
// a part, and a crash leaves no half file under the name. A symbolic link stays one: its target is written. What is
// there already and is not a regular file (a folder, a device, a pipe) is refused.
Result<void> write_atomically(const std::string& path, std::string_view content);
// Removes the temporary files of processes that were killed while they wrote atomically, in this folder and not in
// those below it. What a living process writes stays: it holds a lock on it.
void remove_unfinished(const std::string& folder);

// An error when `output` is one of the files that a command reads, by whatever name or link: writing it would destroy
// what was given.
Result<void> refuse_input(const std::string& output, std::span<const std::string> inputs);
// An error when something is there.
Result<void> refuse_existing(const std::string& output);

// The whole file; refuses folders and files above `limit` bytes.
Result<std::string> read_whole(const std::string& path, std::size_t limit = std::size_t{1} << 32);

// A lock that one process holds at a time, until the object or the process ends, however that happens.
class FileLock {
 public:
  // Makes the file where it is not there; an error when another process holds it for longer than `patience`. One that
  // was just killed or told to end may take a moment.
  static Result<FileLock> take(const std::string& path, std::chrono::milliseconds patience = {});
  FileLock(FileLock&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int file) : file_(file) {}
  int file_;
};

}  // namespace parley
