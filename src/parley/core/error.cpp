#include "parley/core/error.h"

#include <fmt/format.h>

#include "parley/core/text.h"

namespace parley {

Error bad_input(const Place& place, std::string_view rule, std::string_view value) {
  std::string message;
  if (!place.file.empty()) {
    message += place.file;
    if (place.line > 0) message += fmt::format(":{}", place.line);
    message += ": ";
  }
  // Names of columns come from files, and a rule may quote them.
  if (!place.field.empty()) message += printable(place.field, 100) + ": ";
  message += printable(rule, 1000);
  if (!value.empty()) message += fmt::format(" (got '{}')", printable(value, 60));
  return {Fault::kBadInput, message, Cause::kItsOwn};
}

Error failed(std::string message) {
  return {Fault::kFailed, std::move(message), Cause::kItsOwn};
}

Error unavailable(std::string message) {
  return {Fault::kFailed, std::move(message), Cause::kMachine};
}

}  // namespace parley
