#include "parley/catalog/model_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

bool is_whole(const std::vector<Trained>& parts) {
  return parts.size() == 1 && !parts.front().part;
}

// The file of every part, in the order of the parts.
Result<std::vector<std::string>> files_by_part(const std::vector<Trained>& parts, const std::vector<std::string>& files) {
  if (files.size() != parts.size())
    return fail(bad_input({.field = "--data"},
                          fmt::format("this model has {}; give one file for each, PARTY=FILE", counted(parts.size(), "part")),
                          counted(files.size(), "file")));
  std::vector<std::string> names;
  for (const Trained& trained : parts) names.push_back(trained.part->party);
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
  data::LoadOptions reading = trained.reading(labels);
  reading.id_may_lack = true;  // of a model in parts the ids show that the parties' files hold the same records
  for (const std::string& file : files) {
    PARLEY_TRY(const data::Dataset table, data::load(file, reading));
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

Result<void> save(const std::vector<Trained>& parts, const Provenance& whole, const std::string& directory) {
  if (is_whole(parts)) return save(parts.front(), directory);
  Json json = {{"format", kFormat}, {"format_version", 1}, {"meaning", "margin = sum of the parts' margins"}, {"parts", Json::array()}};
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
         a.provenance.algorithm == b.provenance.algorithm && a.provenance.rows == b.provenance.rows;
}

}  // namespace

Result<std::vector<Trained>> load_parts(const std::vector<std::string>& paths) {
  std::vector<Found> found;
  for (const std::string& path : paths) PARLEY_CHECK(find(path, found));
  const Found& first = found.front();
  if (found.size() == 1 && !first.trained.part) return std::vector<Trained>{first.trained};
  for (const Found& each : found) {
    if (!each.trained.part) return fail(bad_input({each.file, 0, "--model"}, "is a whole model, not a part: give it alone"));
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
      return fail(bad_input({second->file, 0, "--model"}, fmt::format("is the part of '{}', and so is {}", party, its->file)));
    parts.push_back(its->trained);
  }
  if (!missing.empty())
    return fail(bad_input(
        {first.file, 0, "--model"},
        fmt::format("is the part of '{}' alone, and says nothing about a record without the others: give theirs too, --model PART PART; "
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
        bad_input({file.string(), 0, ""}, "is there and is no model that parley train wrote; name another --out, or --overwrite it"));
  return json[statement].get<std::string>() != kNotPrivate;
}

Result<Judged> judge(const std::vector<Trained>& parts, const std::vector<std::string>& files, data::LabelUse labels) {
  if (is_whole(parts)) return judge_whole(parts.front(), files, labels);
  PARLEY_TRY(const std::vector<std::string> ordered, files_by_part(parts, files));
  Judged judged;
  bool named = false;  // by record ids rather than row numbers
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Trained& trained = parts[p];
    PARLEY_TRY(const data::Dataset table, data::load(ordered[p], trained.reading(trained.part->labels ? labels : data::LabelUse::kNone)));
    add_notes(ordered[p], table, judged.notes);
    PARLEY_TRY(const std::vector<double> margins, trained.model.margins(table.features));
    if (p == 0) judged.margins.assign(margins.size(), 0.0);
    if (margins.size() != judged.margins.size())
      return fail(bad_input({ordered[p], 0, ""}, "must hold the same records as the other parties' files",
                            fmt::format("{}, not {}", counted(table.rows(), "row"), with_commas(static_cast<long long>(judged.rows())))));
    if (named && !table.ids.empty() && table.ids != judged.ids)
      return fail(bad_input({ordered[p], 0, ""}, "its record ids are not those of the other files in the same order"));
    linalg::axpy(1.0, margins, judged.margins);
    if (judged.ids.empty() || (!named && !table.ids.empty())) {
      judged.ids.clear();
      add_ids(table, judged.ids);
      named = !table.ids.empty();
    }
    if (trained.part->labels) judged.labels = table.labels.values;
  }
  return judged;
}

}  // namespace parley::catalog
