// parley predict: what a model says about the rows of a table.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/parley/verbs.h"
#include "parley/catalog/trained.h"
#include "parley/core/files.h"
#include "parley/data/load.h"

namespace parley::app {

namespace {

struct PredictOptions {
  std::string model;
  std::vector<std::string> data;
  std::string out;
  bool json = false;
};

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string out = "\"";
  for (const char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

struct Prediction {
  std::string id;
  std::string predicted;              // class or value
  std::vector<double> probabilities;  // of the positive class, or of every class
};

Result<std::vector<Prediction>> predictions(const catalog::Trained& trained, const std::string& file) {
  PARLEY_TRY(const data::Dataset table, data::load(file, trained.reading(data::LabelUse::kNone)));
  const glm::Model& model = trained.model;
  const std::size_t rows = table.rows();
  std::vector<Prediction> all(rows);
  for (std::size_t i = 0; i < rows; ++i) all[i].id = table.ids.empty() ? std::to_string(i + 1) : table.ids[i];
  if (model.task == glm::Task::kLinear) {
    PARLEY_TRY(const std::vector<double> values, model.predict_values(table.features));
    for (std::size_t i = 0; i < rows; ++i) all[i].predicted = fmt::format("{}", values[i]);
    return all;
  }
  PARLEY_TRY(const std::vector<int> classes, model.predict_classes(table.features));
  for (std::size_t i = 0; i < rows; ++i) all[i].predicted = model.classes[static_cast<std::size_t>(classes[i])];
  if (model.task == glm::Task::kSquaredHinge) return all;
  PARLEY_TRY(const std::vector<double> probabilities, model.predict_probabilities(table.features));
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < model.outputs(); ++k) all[i].probabilities.push_back(probabilities[k * rows + i]);
  return all;
}

std::string as_csv(const glm::Model& model, const std::vector<Prediction>& all) {
  std::string out = "id,prediction";
  if (model.task == glm::Task::kLogistic) out += ",probability";
  if (model.task == glm::Task::kSoftmax)
    for (const std::string& name : model.classes) out += "," + quoted("probability=" + name);
  out += "\n";
  for (const Prediction& row : all) {
    out += quoted(row.id) + "," + quoted(row.predicted);
    for (const double p : row.probabilities) out += fmt::format(",{}", p);
    out += "\n";
  }
  return out;
}

std::string as_json(const std::vector<Prediction>& all) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Prediction& row : all) {
    nlohmann::ordered_json entry{{"id", row.id}, {"prediction", row.predicted}};
    if (row.probabilities.size() == 1) entry["probability"] = row.probabilities.front();
    if (row.probabilities.size() > 1) entry["probabilities"] = row.probabilities;
    list.push_back(std::move(entry));
  }
  return nlohmann::ordered_json{{"predictions", std::move(list)}}.dump(1) + "\n";
}

Result<int> predict(const PredictOptions& options) {
  PARLEY_TRY(const catalog::Trained trained, catalog::load_trained(options.model));
  std::vector<Prediction> all;
  for (const std::string& file : options.data) {
    PARLEY_TRY(std::vector<Prediction> part, predictions(trained, file));
    std::move(part.begin(), part.end(), std::back_inserter(all));
  }
  const std::string text = options.json ? as_json(all) : as_csv(trained.model, all);
  if (!options.out.empty()) {
    PARLEY_CHECK(write_atomically(options.out, text));
    return 0;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

void add_predict(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* verb = app.add_subcommand("predict", "Predict the rows of a table with a trained model");
  verb->add_option("--model", options->model, "Folder of a run (or its model.json)")->required();
  verb->add_option("--data", options->data, "Tables with the columns that the model was trained on")->required();
  verb->add_option("--out", options->out, "Write to this file instead of stdout");
  verb->add_flag("--json", options->json, "JSON instead of CSV");
  verb->footer(
      "Example:\n"
      "  parley predict --model out/readmission --data examples/readmission/clinic.csv --out predictions.csv");
  verb->callback([options, &exit] { exit.finish(predict(*options)); });
}

}  // namespace parley::app
