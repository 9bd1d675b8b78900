// parley predict: what a model says about the rows of a table.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/parley/data_report.h"
#include "apps/parley/verbs.h"
#include "parley/core/files.h"
#include "parley/data/database_address.h"
#include "parley/glm/batch.h"
#include "parley/glm/metrics.h"
#include "parley/models/model_parts.h"
#include "parley/models/predictions.h"

namespace parley::app {

namespace {

struct PredictOptions {
  std::vector<std::string> model;
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
  std::optional<double> decision;     // of a model that has none: its margin, above 0 for the positive class
};

std::vector<Prediction> predictions(const glm::Model& model, const models::Predictions& predicted) {
  const std::size_t rows = predicted.rows();
  std::vector<Prediction> all(rows);
  std::vector<double> probabilities(predicted.margins.size());
  const bool probable = model.task == glm::Task::kLogistic || model.task == glm::Task::kSoftmax;
  if (probable) glm::class_probabilities(predicted.margins, rows, probabilities);
  for (std::size_t i = 0; i < rows; ++i) {
    all[i].id = predicted.ids[i];
    const double margin = predicted.margins[i];
    if (model.task == glm::Task::kLinear)
      all[i].predicted = fmt::format("{}", margin);
    else if (model.task == glm::Task::kPoisson)
      all[i].predicted = fmt::format("{}", glm::Poisson::rate(margin));
    else if (model.task == glm::Task::kSoftmax)
      all[i].predicted = model.classes[static_cast<std::size_t>(glm::predicted_class(predicted.margins, rows, i))];
    else
      all[i].predicted = model.classes[margin > model.cut() ? 1 : 0];
    for (std::size_t k = 0; probable && k < model.outputs(); ++k)
      all[i].probabilities.push_back(probabilities[k * rows + i]);
    if (model.task == glm::Task::kSquaredHinge) all[i].decision = predicted.margins[i];
  }
  return all;
}

std::string as_csv(const glm::Model& model, const std::vector<Prediction>& all) {
  std::string out = "id,prediction";
  if (model.task == glm::Task::kLogistic) out += ",probability";
  if (model.task == glm::Task::kSquaredHinge) out += ",decision";
  if (model.task == glm::Task::kSoftmax)
    for (const std::string& name : model.classes) out += "," + quoted("probability=" + name);
  out += "\n";
  for (const Prediction& row : all) {
    out += quoted(row.id) + "," + quoted(row.predicted);
    for (const double p : row.probabilities) out += fmt::format(",{}", p);
    if (row.decision) out += fmt::format(",{}", *row.decision);
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
    if (row.decision) entry["decision"] = *row.decision;
    list.push_back(std::move(entry));
  }
  return nlohmann::ordered_json{{"predictions", std::move(list)}}.dump(1) + "\n";
}

std::vector<std::string> files_read(const PredictOptions& options) {
  std::vector<std::string> files;
  for (const std::string& model : options.model)
    for (std::string& file : models::files_of_run(model)) files.push_back(std::move(file));
  for (const std::string& file : options.data) {
    files.push_back(file);
    if (const std::size_t cut = file.find('='); cut != std::string::npos)
      files.push_back(file.substr(cut + 1));  // PARTY=FILE
  }
  return files;
}

Result<int> predict(const PredictOptions& options) {
  std::error_code unknown;
  const auto folder = std::filesystem::path(options.out).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, unknown))
    return fail(bad_input({options.out, 0, "--out"}, "is in a folder that does not exist"));
  PARLEY_TRY(const auto parts, models::load_parts(options.model));
  if (!options.out.empty()) PARLEY_CHECK(data::refuse_table(options.out, files_read(options)));
  PARLEY_TRY(const models::Predictions predicted, models::predict(parts, options.data, data::LabelUse::kNone));
  const glm::Model& model = models::with_labels(parts).model;
  const std::vector<Prediction> all = predictions(model, predicted);
  const std::string text = options.json ? as_json(all) : as_csv(model, all);
  say_notes(predicted.notes);
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
  verb->add_option("--model", options->model,
                   "Folder of a run, or its model.json; for a model in parts, the part of every party")
      ->required();
  verb->add_option(
          "--data", options->data,
          "Tables with the columns that the model was trained on; for a model in parts, PARTY=FILE for each party")
      ->required();
  verb->add_option(
      "--out", options->out,
      "Write to this file instead of stdout: through a symbolic link, but never over the table, the model, a "
      "device or a pipe");
  verb->add_flag("--json", options->json, "Write JSON instead of CSV");
  verb->footer(
      "Example:\n"
      "  parley predict --model out/readmission --data examples/readmission/clinic.csv --out predicted.csv\n\n"
      "Rows have the ids of the table, or numbers where it has none. Beside a predicted class stands the probability "
      "of the positive class (logistic), the probability of every class (softmax), or the decision value, which is "
      "above 0 for the positive class (squared hinge).");
  verb->callback([options, &exit] { exit.finish(predict(*options)); });
}

}  // namespace parley::app
