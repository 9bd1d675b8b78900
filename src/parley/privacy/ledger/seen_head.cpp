#include "parley/privacy/ledger/seen_head.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "parley/core/files.h"

namespace parley::privacy {

namespace {

// Held by one writer of heads in a folder at a time, of this process or another; leaves no file. Where a file system
// cannot lock folders, writers are as they were without: one may set a head back by the entries of another.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder)
      : folder_(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (folder_ >= 0 && ::flock(folder_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FolderLock() {
    if (folder_ >= 0) ::close(folder_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_;
};

}  // namespace

std::string head_file_in(const std::string& folder) {
  return (std::filesystem::path(folder) / "ledger.head").string();
}

Result<std::optional<SeenHead>> read_seen_head(const std::string& file) {
  constexpr std::size_t kLargest = 4096;
  std::error_code error;
  if (!std::filesystem::exists(file, error) && !error) return std::nullopt;
  PARLEY_TRY(const std::string text, read_whole(file, kLargest));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto unreadable = [&] {
    return fail(failed(fmt::format(
        "{}: is damaged: it says how far the ledger had got, and without it an older copy could not be told; "
        "restore it, or remove it if the ledger is surely the newest",
        file)));
  };
  if (!json.is_object() || !json.contains("entries") || !json["entries"].is_number_integer() ||
      !json.contains("head") || !json["head"].is_string())
    return unreadable();
  SeenHead head{json["entries"].get<std::int64_t>(), json["head"].get<std::string>()};
  if (head.entries < 1 || head.hash.size() != 64) return unreadable();
  return head;
}

Result<void> write_seen_head(const std::string& file, const SeenHead& head) {
  const FolderLock alone(std::filesystem::path(file).parent_path());
  PARLEY_TRY(const std::optional<SeenHead> before, read_seen_head(file));
  if (head.entries < 1 || (before && before->entries >= head.entries)) return {};
  const nlohmann::ordered_json json{
      {"about", "How far the ledger had got when it was used last. A ledger without this entry is an older copy."},
      {"entries", head.entries},
      {"head", head.hash}};
  return write_atomically(file, json.dump(1) + "\n");
}

}  // namespace parley::privacy
