#include "parley/models/trained.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/core/version.h"

namespace parley::models {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kFormatVersion = 1;

const std::vector<std::pair<std::string, glm::Task>> kTasks = {{"linear", glm::Task::kLinear},
                                                               {"logistic", glm::Task::kLogistic},
                                                               {"squared-hinge", glm::Task::kSquaredHinge},
                                                               {"softmax", glm::Task::kSoftmax},
                                                               {"poisson", glm::Task::kPoisson}};
const std::vector<std::pair<std::string, glm::Intercept>> kIntercepts = {
    {"none", glm::Intercept::kNone}, {"free", glm::Intercept::kFree}, {"penalised", glm::Intercept::kPenalised}};

template <class Value>
std::string name_of(const std::vector<std::pair<std::string, Value>>& names, Value wanted) {
  for (const auto& [name, value] : names)
    if (value == wanted) return name;
  return "?";
}

// "x12" -> 12
std::optional<linalg::Index> number_in(const std::string& name) {
  if (name.size() < 2 || name[0] != 'x' || name.size() > 11) return std::nullopt;
  if (!std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  const long long number = std::stoll(name.substr(1));
  if (number > std::numeric_limits<linalg::Index>::max()) return std::nullopt;
  return static_cast<linalg::Index>(number);
}

}  // namespace

Json privacy_json(const Provenance& provenance) {
  return {{"claimed", provenance.claimed}, {"covered", provenance.covered}, {"statement", provenance.privacy}};
}

data::LabelKind label_kind(glm::Task task) {
  switch (task) {
    case glm::Task::kLinear:
    case glm::Task::kPoisson:
      return data::LabelKind::kReal;
    case glm::Task::kSoftmax:
      return data::LabelKind::kClasses;
    default:
      return data::LabelKind::kBinary;
  }
}

data::LoadOptions Trained::reading(data::LabelUse labels) const {
  data::LoadOptions options;
  options.schema = schema;
  options.label_use = labels;
  options.labels = label_kind(objective.task);
  options.label = label;
  options.classes = model.classes;
  options.columns = columns;
  options.for_a_model = true;
  if (part && part->join) {
    const auto own = std::find(part->parties.begin(), part->parties.end(), part->party);
    options.keys = part->join->key_columns(static_cast<std::size_t>(own - part->parties.begin()));
  }
  return options;
}

Result<void> save(const Trained& trained, const std::string& directory) {
  const glm::Model& model = trained.model;
  PARLEY_CHECK(model.check());
  const std::size_t outputs = model.outputs();
  const std::size_t d = model.columns.size();
  Json json;
  json["format"] = "parley-model";
  json["format_version"] = kFormatVersion;
  json["meaning"] =
      "feature = (x - center) * scale, divided by its Euclidean norm with unit_rows; margin = sum of weight * feature "
      "+ intercept";
  json["task"] = glm::name(model.task);
  json["classes"] = model.classes;
  json["label"] = trained.label;
  json["intercept"] = {{"kind", name_of(kIntercepts, trained.objective.intercept)}, {"values", model.intercepts}};
  json["objective"] = {{"l1", trained.objective.l1}, {"l2", trained.objective.l2}};
  if (trained.objective.l1_radius) json["objective"]["l1_radius"] = *trained.objective.l1_radius;
  if (!trained.objective.l1_groups.empty()) json["objective"]["l1_groups"] = trained.objective.l1_groups;
  if (trained.objective.box) json["objective"]["box"] = *trained.objective.box;
  if (trained.objective.sparsity) json["objective"]["sparsity"] = *trained.objective.sparsity;
  if (model.threshold) json["threshold"] = *model.threshold;
  json["unit_rows"] = model.unit_rows;
  json["column_count"] = d;

  // Of the numbered columns of a LIBSVM file only those that carry a weight or a center are listed.
  const bool numbered =
      trained.columns.is_numbered() && number_in(model.columns[d - 1]) &&
      static_cast<std::size_t>(*number_in(model.columns[d - 1]) - *number_in(model.columns[0])) + 1 == d;
  if (numbered) json["numbered"] = {{"first", model.columns[0]}, {"last", model.columns[d - 1]}};
  Json columns = Json::array();
  for (std::size_t j = 0; j < d; ++j) {
    bool silent = numbered && model.centers.empty();
    for (std::size_t k = 0; k < outputs; ++k) silent = silent && model.weights[k * d + j] == 0;
    // With unit rows every scale counts, because it enters the norm.
    if (silent && (!model.unit_rows || model.scales.empty())) continue;
    Json column;
    column["name"] = model.columns[j];
    if (model.task == glm::Task::kSoftmax) {
      Json weights = Json::array();
      for (std::size_t k = 0; k < outputs; ++k) weights.push_back(model.weights[k * d + j]);
      column["weights"] = std::move(weights);
    } else {
      column["weight"] = model.weights[j];
    }
    if (!model.bounds.empty()) column["bound"] = std::isfinite(model.bounds[j]) ? Json(model.bounds[j]) : Json(nullptr);
    if (!model.scales.empty()) column["scale"] = model.scales[j];
    if (!model.centers.empty()) column["center"] = model.centers[j];
    columns.push_back(std::move(column));
  }
  json["columns"] = std::move(columns);
  json["schema"] = data::to_toml(trained.schema);
  json["provenance"] = {{"job", trained.provenance.job},
                        {"algorithm", trained.provenance.algorithm},
                        {"version", trained.provenance.version},
                        {"seed", trained.provenance.seed ? Json(*trained.provenance.seed) : Json(nullptr)},
                        {"rows", trained.provenance.rows},
                        {"privacy", trained.provenance.privacy}};
  if (!trained.provenance.run.empty()) json["provenance"]["run"] = trained.provenance.run;
  json["privacy"] = privacy_json(trained.provenance);
  if (trained.part)
    json["part"] = {
        {"party", trained.part->party},
        {"labels", trained.part->labels},
        {"parties", trained.part->parties},
        {"meaning",
         "one part of a model: the margin of a record is the sum of the margins of all these parties' parts"}};
  if (trained.part && trained.part->join) json["part"]["join"] = to_json(*trained.part->join);
  if (trained.part && !trained.part->without_tuple.empty()) json["part"]["without_tuple"] = trained.part->without_tuple;
  return write_atomically((std::filesystem::path(directory) / "model.json").string(), json.dump(1) + "\n");
}

namespace {

// Reads fields of a JSON object; the first one that is missing or of the wrong kind is remembered.
class Fields {
 public:
  Fields(const Json& json, std::string file) : json_(json), file_(std::move(file)) {}

  template <class T>
  T get(const char* key, const Json& object) {
    try {
      return object.at(key).get<T>();
    } catch (const nlohmann::json::exception&) {
      if (!mistake_) mistake_ = bad_input({file_, 0, key}, "is missing or not what a model holds there");
      return T{};
    }
  }
  template <class T>
  T get(const char* key) {
    return get<T>(key, json_);
  }
  const Json& object(const char* key) {
    static const Json kEmpty = Json::object();
    if (json_.contains(key) && json_[key].is_object()) return json_[key];
    if (!mistake_) mistake_ = bad_input({file_, 0, key}, "is missing or not an object");
    return kEmpty;
  }
  template <class Value>
  Value choose(const char* key, const Json& object, const std::vector<std::pair<std::string, Value>>& names) {
    const auto text = get<std::string>(key, object);
    for (const auto& [name, value] : names)
      if (name == text) return value;
    if (!mistake_) mistake_ = bad_input({file_, 0, key}, "is not known to this version", text);
    return names.front().second;
  }
  void reject(const char* key, std::string_view rule) {
    if (!mistake_) mistake_ = bad_input({file_, 0, key}, rule);
  }
  [[nodiscard]] Result<void> finish() const {
    if (mistake_) return fail(*mistake_);
    return {};
  }

 private:
  const Json& json_;
  std::string file_;
  std::optional<Error> mistake_;
};

}  // namespace

Result<Trained> load_trained(const std::string& directory) {
  std::error_code unknown;
  const std::string file = std::filesystem::is_directory(directory, unknown)
                               ? (std::filesystem::path(directory) / "model.json").string()
                               : directory;
  PARLEY_TRY(const std::string text, read_whole(file));
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || json.value("format", Json()) != "parley-model")
    return fail(bad_input({file, 0, ""}, "is not a model written by parley train"));
  Fields fields(json, file);
  if (fields.get<int>("format_version") > kFormatVersion)
    return fail(bad_input({file, 0, "format_version"}, "was written by a newer version of Parley"));

  Trained trained;
  glm::Model& model = trained.model;
  model.task = trained.objective.task = fields.choose("task", json, kTasks);
  model.classes = fields.get<std::vector<std::string>>("classes");
  model.unit_rows = fields.get<bool>("unit_rows");
  if (json.contains("threshold")) {
    model.threshold = fields.get<double>("threshold");
    if (!(*model.threshold > 0 && *model.threshold < 1)) fields.reject("threshold", "must lie between 0 and 1");
  }
  trained.label = fields.get<std::string>("label");
  const Json& intercept = fields.object("intercept");
  trained.objective.intercept = fields.choose("kind", intercept, kIntercepts);
  model.intercepts = fields.get<std::vector<double>>("values", intercept);
  const Json& objective = fields.object("objective");
  trained.objective.l1 = fields.get<double>("l1", objective);
  trained.objective.l2 = fields.get<double>("l2", objective);
  if (objective.contains("l1_radius")) trained.objective.l1_radius = fields.get<double>("l1_radius", objective);
  if (objective.contains("l1_groups"))
    trained.objective.l1_groups = fields.get<std::vector<int>>("l1_groups", objective);
  if (objective.contains("box")) trained.objective.box = fields.get<double>("box", objective);
  if (objective.contains("sparsity")) trained.objective.sparsity = fields.get<int>("sparsity", objective);
  const auto d = fields.get<std::size_t>("column_count");
  const Json columns = fields.get<Json>("columns");
  PARLEY_CHECK(fields.finish());
  const std::size_t outputs = model.outputs();
  trained.objective.classes = static_cast<int>(outputs);
  if (!columns.is_array() || outputs == 0 || (d == 0 && !json.contains("part")) || d > std::size_t{1} << 31 ||
      columns.size() > d || d * outputs > std::size_t{1} << 33)
    return fail(bad_input({file, 0, "columns"}, "does not fit column_count and classes"));

  linalg::Index first = 0;
  const bool numbered = json.contains("numbered");
  if (numbered) {
    const Json& range = fields.object("numbered");
    const auto from = number_in(fields.get<std::string>("first", range));
    const auto to = number_in(fields.get<std::string>("last", range));
    if (!from || !to || *to < *from || static_cast<std::size_t>(*to - *from) + 1 != d)
      return fail(bad_input({file, 0, "numbered"}, "does not fit column_count"));
    first = *from;
    trained.columns = data::ColumnNames::numbered(first, static_cast<linalg::Index>(d));
    model.columns = trained.columns.list();
  } else if (columns.size() != d) {
    return fail(bad_input({file, 0, "columns"}, "does not fit column_count"));
  }

  model.weights.assign(outputs * d, 0.0);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Json& column = columns[c];
    const auto name = fields.get<std::string>("name", column);
    std::size_t j = c;
    if (numbered) {
      const auto number = number_in(name);
      if (!number || *number < first || static_cast<std::size_t>(*number - first) >= d)
        return fail(bad_input({file, 0, "columns"}, "names a column outside its range", name));
      j = static_cast<std::size_t>(*number - first);
    } else {
      model.columns.push_back(name);
    }
    const auto weights = model.task == glm::Task::kSoftmax ? fields.get<std::vector<double>>("weights", column)
                                                           : std::vector<double>{fields.get<double>("weight", column)};
    if (weights.size() != outputs) fields.reject("weights", "must have one number per class");
    PARLEY_CHECK(fields.finish());
    for (std::size_t k = 0; k < outputs; ++k) model.weights[k * d + j] = weights[k];
    if (column.contains("scale")) {
      if (model.scales.empty()) model.scales.assign(d, 1.0);
      model.scales[j] = fields.get<double>("scale", column);
    }
    if (column.contains("center")) {
      if (model.centers.empty()) model.centers.assign(d, 0.0);
      model.centers[j] = fields.get<double>("center", column);
    }
  }
  if (!numbered) trained.columns = data::ColumnNames(model.columns);
  PARLEY_TRY(trained.schema, data::parse_schema(fields.get<std::string>("schema"), file + " (schema)"));
  const Json& provenance = fields.object("provenance");
  trained.provenance.job = fields.get<std::string>("job", provenance);
  trained.provenance.algorithm = fields.get<std::string>("algorithm", provenance);
  trained.provenance.rows = fields.get<std::size_t>("rows", provenance);
  trained.provenance.privacy = fields.get<std::string>("privacy", provenance);
  if (json.contains("privacy")) {  // models of earlier versions do not say
    const Json& privacy = fields.object("privacy");
    trained.provenance.claimed = fields.get<bool>("claimed", privacy);
    trained.provenance.covered = fields.get<bool>("covered", privacy);
  }
  if (provenance.contains("run")) trained.provenance.run = fields.get<std::string>("run", provenance);
  if (json.contains("part")) {
    const Json& part = fields.object("part");
    trained.part = PartOf{fields.get<std::string>("party", part), fields.get<bool>("labels", part),
                          fields.get<std::vector<std::string>>("parties", part)};
    if (part.is_object() && part.contains("join")) {
      PARLEY_TRY(trained.part->join, join_from_json(part["join"], file));
    }
    if (part.is_object() && part.contains("without_tuple"))
      trained.part->without_tuple = fields.get<std::vector<double>>("without_tuple", part);
    if (trained.part->join && trained.part->join->table_of_part.size() != trained.part->parties.size())
      fields.reject("part", "must have a table for each of its parties");
    if (!trained.part->without_tuple.empty() && trained.part->without_tuple.size() != outputs)
      fields.reject("part", "must have one number per class for rows without a tuple");
    if (std::ranges::count(trained.part->parties, trained.part->party) != 1)
      fields.reject("part", "must name its party among the parties");
  }
  PARLEY_CHECK(fields.finish());
  if (auto whole = model.check(); !whole) return fail(bad_input({file, 0, ""}, whole.error().message));
  return trained;
}

}  // namespace parley::models
