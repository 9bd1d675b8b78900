#include "parley/reports/finished_run.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "parley/core/files.h"
#include "parley/core/version.h"

namespace parley::reports {

namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;

Result<Json> read_json(const std::filesystem::path& path) {
  PARLEY_TRY(const std::string text, read_whole(path.string(), kMostBytes));
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return fail(bad_input({path.string(), 0, ""}, "is not a JSON document of a run"));
  return json;
}

}  // namespace

const Json& FinishedRun::measured(const char* field) const {
  static const Json nothing;
  const Json& place = is_private() ? result.at("simulation") : result;
  const auto at = place.is_object() ? place.find(field) : place.end();
  return place.is_object() && at != place.end() ? *at : nothing;
}

Result<FinishedRun> read_run(const std::string& folder) {
  const std::filesystem::path place(folder);
  std::error_code unknown;
  if (!std::filesystem::exists(place / "result.json", unknown))
    return fail(bad_input({folder, 0, ""}, "is not the folder of a run: it has no result.json"));
  FinishedRun run{.folder = folder};
  PARLEY_TRY(run.result, read_json(place / "result.json"));
  for (const char* field : {"status", "job", "algorithm", "version"})
    if (!run.result.contains(field) || !run.result.at(field).is_string())
      return fail(
          bad_input({(place / "result.json").string(), 0, field}, "is missing: this is not the result of a run"));
  if (run.result.at("version") != kVersion)
    return fail(bad_input({(place / "result.json").string(), 0, "version"},
                          std::string("is that of another version of Parley; this is ") + kVersion,
                          run.result.at("version").get<std::string>()));
  run.name = run.result.at("job").get<std::string>();
  std::vector<std::filesystem::path> parts;
  for (const auto& entry : std::filesystem::directory_iterator(place, unknown))
    if (entry.path().filename().string().starts_with("part-") &&
        std::filesystem::exists(entry.path() / "model.json", unknown))
      parts.push_back(entry.path() / "model.json");
  std::sort(parts.begin(), parts.end());
  if (parts.empty() && std::filesystem::exists(place / "model.json", unknown)) parts.push_back(place / "model.json");
  for (const std::filesystem::path& part : parts) {
    PARLEY_TRY(run.models.emplace_back(), read_json(part));
  }
  return run;
}

}  // namespace parley::reports
