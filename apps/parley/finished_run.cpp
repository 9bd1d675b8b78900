#include "apps/parley/finished_run.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "parley/core/files.h"
#include "parley/models/trained.h"
#include "parley/privacy/ledger/digest.h"

namespace parley::app {

namespace {

using Json = nlohmann::ordered_json;

std::string in(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

// Not an object where the file is not there or holds none.
Json read_json(const std::string& path) {
  return Json::parse(read_whole(path).value_or(""), nullptr, false);
}

}  // namespace

Result<void> keep(const FinishedRun& run, const std::string& folder) {
  const Json json{{"run", run.run},
                  {"job", run.job},
                  {"private", run.is_private},
                  {"model", run.model},
                  {"result", privacy::digest_of(run.result)},
                  {"exit_code", run.exit_code},
                  {"shown", run.shown}};
  return write_atomically(in(folder, "finished"), json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::optional<FinishedRun> finished_run(const std::string& folder, const std::string& job) {
  const Json json = read_json(in(folder, "finished"));
  const auto result = read_whole(in(folder, "result.json"));
  if (!result) return std::nullopt;
  const auto word = [&](const char* key) {
    const Json value = json.is_object() ? json.value(key, Json()) : Json();
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  if (word("job") != job || word("result") != privacy::digest_of(*result)) return std::nullopt;
  const Json code = json.value("exit_code", Json());
  return FinishedRun{.run = word("run"),
                     .job = job,
                     .is_private = json.value("private", Json()) == true,
                     .model = word("model"),
                     .result = *result,
                     .shown = word("shown"),
                     .exit_code = code.is_number_integer() ? code.get<int>() : 0};
}

std::string tells_of_private_run(const std::string& folder) {
  const Json finished = read_json(in(folder, "finished"));
  if (finished.is_object() && finished.value("private", Json()) == true) return in(folder, "finished");
  const Json result = read_json(in(folder, "result.json"));
  const Json::json_pointer statement("/privacy/statement");
  const bool states = result.is_object() && result.contains(statement) && result[statement].is_string();
  return states && result[statement] != models::kNotPrivate ? in(folder, "result.json") : "";
}

}  // namespace parley::app
