#include "apps/parley/finished_run.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "parley/core/files.h"
#include "parley/privacy/ledger/ledger.h"

namespace parley::app {

namespace {

using Json = nlohmann::ordered_json;

std::string in(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

}  // namespace

Result<void> keep(const FinishedRun& run, const std::string& folder) {
  const Json json{
      {"run", run.run}, {"job", run.job}, {"result", privacy::digest_of(run.result)}, {"exit_code", run.exit_code}, {"shown", run.shown}};
  return write_atomically(in(folder, "finished"), json.dump(1) + "\n");
}

std::optional<FinishedRun> finished_run(const std::string& folder, const std::string& job) {
  if (!std::filesystem::exists(in(folder, "finished"))) return std::nullopt;
  const auto text = read_whole(in(folder, "finished"));
  const auto result = read_whole(in(folder, "result.json"));
  if (!text || !result) return std::nullopt;
  const Json json = Json::parse(*text, nullptr, false);
  const auto word = [&](const char* key) {
    const Json value = json.is_object() ? json.value(key, Json()) : Json();
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  if (word("job") != job || word("result") != privacy::digest_of(*result)) return std::nullopt;
  const Json code = json.value("exit_code", Json());
  return FinishedRun{word("run"), job, *result, word("shown"), code.is_number_integer() ? code.get<int>() : 0};
}

}  // namespace parley::app
