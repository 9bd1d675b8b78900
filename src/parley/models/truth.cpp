#include "parley/models/truth.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "parley/core/files.h"

namespace parley::models {

using Json = nlohmann::ordered_json;

namespace {

using Coefficients = std::map<std::string, double>;

// Adds the sizes, so that a column is zero only where every party has it so.
Result<void> add(const Json& model, const std::string& file, Coefficients& truth) {
  const Json coefficients = model.is_object() ? model.value("coefficients", Json()) : Json();
  if (!coefficients.is_object())
    return fail(bad_input({file, 0, "coefficients"}, "is missing: names of columns and their true coefficients"));
  for (const auto& [name, value] : coefficients.items()) {
    if (!value.is_number()) return fail(bad_input({file, 0, "coefficients." + name}, "must be a number", value.dump()));
    truth[name] += std::abs(value.get<double>());
  }
  return {};
}

Result<Coefficients> read_truth(const std::string& file) {
  PARLEY_TRY(const std::string text, read_whole(file));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return fail(bad_input({file, 0, ""}, "is not a truth as parley data generate writes it"));
  Coefficients truth;
  const Json parties = json.value("parties", Json());
  if (!parties.is_array()) {
    PARLEY_CHECK(add(json, file, truth));
    return truth;
  }
  for (const Json& party : parties) PARLEY_CHECK(add(party, file, truth));
  return truth;
}

}  // namespace

Result<glm::SupportRecovery> support_against(const std::string& truth_file, const std::vector<Trained>& parts) {
  PARLEY_TRY(const Coefficients truth, read_truth(truth_file));
  Coefficients found;
  for (const Trained& part : parts) {
    const glm::Model& model = part.model;
    const std::size_t d = model.columns.size();
    for (std::size_t j = 0; j < d; ++j) {
      double size = 0;
      for (std::size_t k = 0; k < model.outputs(); ++k) size += std::abs(model.weights[k * d + j]);
      if (!found.emplace(model.columns[j], size).second)
        return fail(bad_input({truth_file, 0, model.columns[j]},
                              "is a column of two parts of the model: which of them is meant?"));
    }
  }
  std::vector<double> weights, coefficients;
  bool known = truth.empty();
  for (const auto& [name, size] : found) {
    const auto at = truth.find(name);
    known = known || at != truth.end();
    weights.push_back(size);
    coefficients.push_back(at == truth.end() ? 0.0 : at->second);
  }
  if (!known)
    return fail(bad_input({truth_file, 0, "coefficients"}, "names no column of the model", truth.begin()->first));
  for (const auto& [name, size] : truth) {
    if (found.contains(name)) continue;
    weights.push_back(0.0);
    coefficients.push_back(size);
  }
  return glm::support_recovery(weights, coefficients);
}

}  // namespace parley::models
