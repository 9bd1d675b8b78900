#include "parley/privacy/units.h"

#include <fmt/format.h>

#include <cmath>

namespace parley::privacy {

// The limits are those of what the accountants were checked for.
Result<Epsilon> Epsilon::make(double value) {
  if (!(value > 0) || !std::isfinite(value))
    return fail(bad_input({.field = "epsilon"}, "must be a finite number above 0", fmt::format("{}", value)));
  if (value < 1e-9 || value > 1e9)
    return fail(bad_input({.field = "epsilon"}, "must lie between 1e-9 and 1e9", fmt::format("{}", value)));
  return Epsilon(value);
}

Result<Delta> Delta::make(double value) {
  if (!(value > 0) || !(value < 1))
    return fail(bad_input({.field = "delta"}, "must lie strictly between 0 and 1", fmt::format("{}", value)));
  if (value < 1e-300) return fail(bad_input({.field = "delta"}, "must be at least 1e-300", fmt::format("{}", value)));
  return Delta(value);
}

std::string_view name(Unit unit) {
  switch (unit) {
    case Unit::kRecord:
      return "record";
    case Unit::kTuple:
      return "tuple";
    case Unit::kEntity:
      return "entity";
    case Unit::kLabel:
      return "label";
    case Unit::kClient:
      return "client";
  }
  return "?";
}

std::string_view name(Neighbours neighbours) {
  return neighbours == Neighbours::kReplaceOne ? "replace-one" : "add-remove";
}

std::string_view name(Against against) {
  return against == Against::kEveryone ? "everyone" : "outsiders";
}

}  // namespace parley::privacy
