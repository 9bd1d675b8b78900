#include "parley/privacy/ledger/seen_head.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "parley/core/files.h"

namespace parley::privacy {

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
    return fail(
        failed(fmt::format("{}: is damaged: it says how far the ledger had got, and without it an older copy could not be told; "
                           "restore it, or remove it if the ledger is surely the newest",
                           file)));
  };
  if (!json.is_object() || !json.contains("entries") || !json["entries"].is_number_integer() || !json.contains("head") ||
      !json["head"].is_string())
    return unreadable();
  SeenHead head{json["entries"].get<std::int64_t>(), json["head"].get<std::string>()};
  if (head.entries < 1 || head.hash.size() != 64) return unreadable();
  return head;
}

Result<void> write_seen_head(const std::string& file, const SeenHead& head) {
  PARLEY_TRY(const std::optional<SeenHead> before, read_seen_head(file));
  if (head.entries < 1 || (before && before->entries >= head.entries)) return {};
  const nlohmann::ordered_json json{{"about", "How far the ledger had got when it was used last. A ledger without this entry is an older copy."},
                                    {"entries", head.entries},
                                    {"head", head.hash}};
  return write_atomically(file, json.dump(1) + "\n");
}

}  // namespace parley::privacy
