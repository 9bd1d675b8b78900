#include "parley/catalog/model_parts.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/linalg/vectors.h"

namespace parley::catalog {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kFormat = "parley-model-parts";

std::string in(const std::string& directory, const std::string& name) {
  return (std::filesystem::path(directory) / name).string();
}

// The file of every part, in the order of the parts.
Result<std::vector<std::string>> files_by_part(const std::vector<ModelPart>& parts, const std::vector<std::string>& files) {
  if (files.size() != parts.size())
    return fail(bad_input({.field = "--data"}, fmt::format("this model has {} parts; give one file for each, PARTY=FILE", parts.size()),
                          fmt::format("{} files", files.size())));
  std::vector<std::string> names;
  for (const ModelPart& part : parts) names.push_back(part.party);
  std::vector<std::string> ordered(parts.size());
  for (std::size_t f = 0; f < files.size(); ++f) {
    const std::size_t cut = files[f].find('=');
    const auto named = cut == std::string::npos ? names.end() : std::find(names.begin(), names.end(), files[f].substr(0, cut));
    const std::size_t at = named == names.end() ? f : static_cast<std::size_t>(named - names.begin());
    if (!ordered[at].empty()) return fail(bad_input({.field = "--data"}, "two files for party '" + names[at] + "'", files[f]));
    ordered[at] = named == names.end() ? files[f] : files[f].substr(cut + 1);
  }
  return ordered;
}

void add_ids(const data::Dataset& table, std::vector<std::string>& ids) {
  const std::size_t first = ids.size();
  for (std::size_t i = 0; i < table.rows(); ++i) ids.push_back(table.ids.empty() ? std::to_string(first + i + 1) : table.ids[i]);
}

void add_notes(const std::string& file, const data::Dataset& table, std::vector<std::string>& notes) {
  for (const std::string& note : table.notes) notes.push_back(file + ": " + note);
}

// Rows of one table after those of another, class by class.
void append_rows(std::vector<double>& all, std::size_t rows, const std::vector<double>& more, std::size_t more_rows) {
  const std::size_t outputs = more.size() / std::max<std::size_t>(more_rows, 1);
  std::vector<double> joined;
  for (std::size_t k = 0; k < outputs; ++k) {
    if (rows > 0) joined.insert(joined.end(), &all[k * rows], &all[k * rows] + rows);
    joined.insert(joined.end(), &more[k * more_rows], &more[k * more_rows] + more_rows);
  }
  all = std::move(joined);
}

Result<Judged> judge_whole(const Trained& trained, const std::vector<std::string>& files, data::LabelUse labels) {
  Judged judged;
  for (const std::string& file : files) {
    PARLEY_TRY(const data::Dataset table, data::load(file, trained.reading(labels)));
    add_notes(file, table, judged.notes);
    PARLEY_TRY(const std::vector<double> margins, trained.model.margins(table.features));
    append_rows(judged.margins, judged.rows(), margins, table.rows());
    // Row numbers start anew in every file.
    std::vector<std::string> ids;
    add_ids(table, ids);
    judged.ids.insert(judged.ids.end(), ids.begin(), ids.end());
    judged.labels.insert(judged.labels.end(), table.labels.values.begin(), table.labels.values.end());
  }
  return judged;
}

}  // namespace

Result<void> save(const std::vector<ModelPart>& parts, const std::string& directory) {
  if (parts.size() == 1 && parts.front().party.empty()) return save(parts.front().trained, directory);
  Json json = {{"format", kFormat}, {"format_version", 1}, {"meaning", "margin = sum of the parts' margins"}, {"parts", Json::array()}};
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::string folder = fmt::format("part-{}", p + 1);
    std::error_code error;
    std::filesystem::create_directories(in(directory, folder), error);
    if (error) return fail(bad_input({in(directory, folder), 0, ""}, "the folder cannot be made: " + error.message()));
    PARLEY_CHECK(save(parts[p].trained, in(directory, folder)));
    json["parts"].push_back({{"party", parts[p].party}, {"labels", parts[p].labels}, {"path", folder + "/model.json"}});
  }
  return write_atomically(in(directory, "model.json"), json.dump(1) + "\n");
}

Result<std::vector<ModelPart>> load_parts(const std::string& directory) {
  const std::filesystem::path given(directory);
  const std::string file = std::filesystem::is_directory(given) ? (given / "model.json").string() : directory;
  PARLEY_TRY(const std::string text, read_whole(file));
  const Json json = Json::parse(text, nullptr, false);
  std::vector<ModelPart> parts;
  if (!json.is_object() || json.value("format", Json()) != kFormat) {
    PARLEY_TRY(Trained trained, load_trained(directory));
    parts.push_back({"", true, std::move(trained)});
    return parts;
  }
  const Json list = json.value("parts", Json::array());
  for (const Json& entry : list) {
    const auto text_of = [&](const char* key) {
      const Json value = entry.is_object() ? entry.value(key, Json()) : Json();
      return value.is_string() ? value.get<std::string>() : std::string();
    };
    const std::filesystem::path path = text_of("path");
    if (text_of("party").empty() || path.empty() || path.is_absolute() || path.lexically_normal().string().starts_with(".."))
      return fail(bad_input({file, 0, "parts"}, "must name parties and files beside this one"));
    ModelPart part{text_of("party"), entry.value("labels", Json()) == true, {}};
    PARLEY_TRY(part.trained, load_trained((std::filesystem::path(file).parent_path() / path).string()));
    if (!parts.empty() && part.trained.model.task != parts.front().trained.model.task)
      return fail(bad_input({file, 0, "parts"}, "belong to different tasks"));
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return fail(bad_input({file, 0, "parts"}, "lists no part"));
  return parts;
}

Result<bool> holds_private_model(const std::string& directory) {
  std::filesystem::path file = in(directory, "model.json");
  if (!std::filesystem::exists(file)) return false;
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
        bad_input({file.string(), 0, ""}, "is there and is no model that parley train wrote; name another --out, or --overwrite it"));
  return json[statement].get<std::string>() != kNotPrivate;
}

Result<Judged> judge(const std::vector<ModelPart>& parts, const std::vector<std::string>& files, data::LabelUse labels) {
  if (parts.size() == 1 && parts.front().party.empty()) return judge_whole(parts.front().trained, files, labels);
  PARLEY_TRY(const std::vector<std::string> ordered, files_by_part(parts, files));
  Judged judged;
  bool named = false;  // by record ids rather than row numbers
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Trained& trained = parts[p].trained;
    PARLEY_TRY(const data::Dataset table, data::load(ordered[p], trained.reading(parts[p].labels ? labels : data::LabelUse::kNone)));
    add_notes(ordered[p], table, judged.notes);
    PARLEY_TRY(const std::vector<double> margins, trained.model.margins(table.features));
    if (p == 0) judged.margins.assign(margins.size(), 0.0);
    if (margins.size() != judged.margins.size())
      return fail(bad_input({ordered[p], 0, ""}, "must hold the same records as the other parties' files",
                            fmt::format("{} rows, not {}", table.rows(), judged.rows())));
    if (named && !table.ids.empty() && table.ids != judged.ids)
      return fail(bad_input({ordered[p], 0, ""}, "its record ids are not those of the other files in the same order"));
    linalg::axpy(1.0, margins, judged.margins);
    if (judged.ids.empty() || (!named && !table.ids.empty())) {
      judged.ids.clear();
      add_ids(table, judged.ids);
      named = !table.ids.empty();
    }
    if (parts[p].labels) judged.labels = table.labels.values;
  }
  return judged;
}

}  // namespace parley::catalog
