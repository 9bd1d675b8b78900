// What a run left in its folder: result.json, model.json and the parts of a model.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "parley/core/result.h"

namespace parley::reports {

using Json = nlohmann::ordered_json;

// NOLINTNEXTLINE(bugprone-exception-escape): moving Json moves pointers.
struct FinishedRun {
  std::string folder;
  std::string name;  // of the job; with the folder where several runs have it
  Json result;
  std::vector<Json> models;  // the model, or its parts that are here; empty where they are elsewhere

  // Objective, metrics, time and notes stand under `simulation` in a private run.
  [[nodiscard]] const Json& measured(const char* field) const;
  [[nodiscard]] bool is_private() const { return result.contains("simulation"); }
};

Result<FinishedRun> read_run(const std::string& folder);

}  // namespace parley::reports
