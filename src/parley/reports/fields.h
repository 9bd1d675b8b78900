// Fields of a run's files, by their path. One that is missing, null or of another kind is not there.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>

#include "parley/reports/finished_run.h"

namespace parley::reports {

inline const Json* at(const Json& json, std::initializer_list<const char*> path) {
  const Json* here = &json;
  for (const char* key : path) {
    if (!here->is_object()) return nullptr;
    const auto found = here->find(key);
    if (found == here->end() || found->is_null()) return nullptr;
    here = &*found;
  }
  return here;
}

inline std::optional<double> number(const Json& json, std::initializer_list<const char*> path) {
  const Json* found = at(json, path);
  return found != nullptr && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

inline std::string text(const Json& json, std::initializer_list<const char*> path) {
  const Json* found = at(json, path);
  if (found == nullptr) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

}  // namespace parley::reports
