#include "parley/models/model_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/linalg/vectors.h"

namespace parley::models {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kFormat = "parley-model-parts";

std::string in(const std::string& directory, const std::string& name) {
  return (std::filesystem::path(directory) / name).string();
}

bool is_whole(const std::vector<Trained>& parts) {
  return parts.size() == 1 && !parts.front().part;
}

}  // namespace

Result<void> save(const std::vector<Trained>& parts, const Provenance& whole, const std::string& directory) {
  if (is_whole(parts)) return save(parts.front(), directory);
  Json json = {{"format", kFormat},
               {"format_version", 1},
               {"meaning", "margin = sum of the parts' margins"},
               {"parts", Json::array()}};
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::string folder = fmt::format("part-{}", p + 1);
    std::error_code error;
    std::filesystem::create_directories(in(directory, folder), error);
    if (error) return fail(bad_input({in(directory, folder), 0, ""}, "the folder cannot be made: " + error.message()));
    PARLEY_CHECK(save(parts[p], in(directory, folder)));
    json["parts"].push_back({{"party", parts[p].part->party}, {"path", folder + "/model.json"}});
  }
  json["privacy"] = privacy_json(whole);
  return write_atomically(in(directory, "model.json"), json.dump(1) + "\n");
}

namespace {

struct Found {
  std::string file;
  Trained trained;
};

// What one path holds: a model, a part, or the parts that a list names.
Result<void> find(const std::string& path, std::vector<Found>& found) {
  std::error_code unknown;
  const std::string file = std::filesystem::is_directory(path, unknown) ? in(path, "model.json") : path;
  PARLEY_TRY(const std::string text, read_whole(file));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("format", Json()) != kFormat) {
    PARLEY_TRY(Trained trained, load_trained(file));
    found.push_back({file, std::move(trained)});
    return {};
  }
  const Json list = json.value("parts", Json::array());
  if (!list.is_array() || list.empty()) return fail(bad_input({file, 0, "parts"}, "lists no part"));
  for (const Json& entry : list) {
    const Json value = entry.is_object() ? entry.value("path", Json()) : Json();
    const std::filesystem::path part = value.is_string() ? value.get<std::string>() : std::string();
    if (part.empty() || part.is_absolute() || part.lexically_normal().string().starts_with(".."))
      return fail(bad_input({file, 0, "parts"}, "must name files beside this one"));
    found.push_back({(std::filesystem::path(file).parent_path() / part).string(), {}});
    PARLEY_TRY(found.back().trained, load_trained(found.back().file));
  }
  return {};
}

// Of one run as far as the files tell. Parts of earlier versions do not name it.
bool belong_together(const Trained& a, const Trained& b) {
  return a.provenance.run == b.provenance.run && a.part->parties == b.part->parties && a.model.task == b.model.task &&
         a.objective.l1 == b.objective.l1 && a.objective.l2 == b.objective.l2 && a.provenance.job == b.provenance.job &&
         a.provenance.algorithm == b.provenance.algorithm && a.part->join == b.part->join &&
         (a.part->join || a.provenance.rows == b.provenance.rows);  // tables that join differ in length
}

}  // namespace

Result<std::vector<Trained>> load_parts(const std::vector<std::string>& paths) {
  std::vector<Found> found;
  for (const std::string& path : paths) PARLEY_CHECK(find(path, found));
  const Found& first = found.front();
  if (found.size() == 1 && !first.trained.part) return std::vector<Trained>{first.trained};
  for (const Found& each : found) {
    if (!each.trained.part)
      return fail(bad_input({each.file, 0, "--model"}, "is a whole model, not a part: give it alone"));
    if (!belong_together(first.trained, each.trained))
      return fail(bad_input({each.file, 0, "--model"}, fmt::format("is not of the same run as {}", first.file)));
  }
  std::vector<Trained> parts;
  std::vector<std::string> missing;
  for (const std::string& party : first.trained.part->parties) {
    const auto is_its = [&](const Found& each) { return each.trained.part->party == party; };
    const auto its = std::ranges::find_if(found, is_its);
    if (its == found.end()) {
      missing.push_back("'" + party + "'");
      continue;
    }
    if (const auto second = std::find_if(its + 1, found.end(), is_its); second != found.end())
      return fail(
          bad_input({second->file, 0, "--model"}, fmt::format("is the part of '{}', and so is {}", party, its->file)));
    parts.push_back(its->trained);
  }
  if (!missing.empty())
    return fail(
        bad_input({first.file, 0, "--model"}, fmt::format("is the part of '{}' alone, and says nothing about a record "
                                                          "without the others: give theirs too, --model PART PART; "
                                                          "missing: {}",
                                                          first.trained.part->party, fmt::join(missing, ", "))));
  return parts;
}

const Trained& with_labels(const std::vector<Trained>& parts) {
  for (const Trained& trained : parts)
    if (!trained.part || trained.part->labels) return trained;
  return parts.front();
}

std::vector<std::string> files_of_run(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::is_directory(directory, error) ? fs::path(directory) : fs::path(directory).parent_path();
  std::vector<std::string> files = {directory};
  const auto add = [&](const fs::path& at) {
    for (const char* name : {"model.json", "result.json"}) files.push_back((at / name).string());
  };
  add(folder);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? fs::path(".") : folder, error))
    if (entry.is_directory(error) && entry.path().filename().string().starts_with("part-")) add(entry.path());
  return files;
}

Result<bool> holds_private_model(const std::string& directory) {
  std::filesystem::path file = in(directory, "model.json");
  std::error_code error;
  const bool there = std::filesystem::exists(file, error);
  if (error) return fail(bad_input({file.string(), 0, ""}, "cannot be looked at: " + error.message()));
  if (!there) return false;
  Json json;
  const auto read = [&]() -> Result<void> {
    PARLEY_TRY(const std::string text, read_whole(file.string()));
    json = Json::parse(text, nullptr, false);
    return {};
  };
  const Json::json_pointer first_part("/parts/0/path"), statement("/provenance/privacy");
  PARLEY_CHECK(read());
  if (json.is_object() && json.contains(first_part) && json[first_part].is_string()) {
    file.replace_filename(json[first_part].get<std::string>());
    PARLEY_CHECK(read());
  }
  if (!json.is_object() || !json.contains(statement) || !json[statement].is_string())
    return fail(
        bad_input({file.string(), 0, ""},
                  "is there and is not a model that parley train wrote; name another --out, or --overwrite it"));
  return json[statement].get<std::string>() != kNotPrivate;
}

const Trained& with_labels(std::span<const Trained> parts) {
  const auto holder =
      std::find_if(parts.begin(), parts.end(), [](const Trained& part) { return part.part && part.part->labels; });
  return holder == parts.end() ? parts.front() : *holder;
}

}  // namespace parley::models
