#include "parley/privacy/accounting/statement.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace parley::privacy {

std::string rounded_up(double value, int digits) {
  if (!std::isfinite(value)) return "inf";
  if (value <= 0) return "0";
  std::string text = fmt::format("{:.{}g}", value, digits);
  // Half a unit in the last digit more rounds up exactly when plain rounding went down.
  if (std::strtod(text.c_str(), nullptr) < value) {
    const double unit = std::pow(10.0, std::floor(std::log10(value)) - digits + 1);
    text = fmt::format("{:.{}g}", std::strtod(text.c_str(), nullptr) + unit, digits);
  }
  return text;
}

std::string in_words(double epsilon, double delta, Neighbours neighbours, Unit unit) {
  const char* somebody = unit == Unit::kClient   ? "client"
                         : unit == Unit::kTuple  ? "tuple"
                         : unit == Unit::kEntity ? "entity"
                                                 : "person";
  const char* theirs = unit == Unit::kClient   ? "client's table"
                       : unit == Unit::kLabel  ? "person's label"
                       : unit == Unit::kTuple  ? "tuple"
                       : unit == Unit::kEntity ? "entity's rows"
                                               : "person's record";
  const std::string what = fmt::format("one {}", unit == Unit::kClient ? "client's whole table" : theirs);
  const std::string change = neighbours == Neighbours::kReplaceOne
                                 ? "Counted for " + what + " being replaced by any other (replace-one)."
                                 : "Counted for " + what + " being added or taken away (add-remove).";
  if (!std::isfinite(epsilon) || delta >= 1)
    return fmt::format("Nothing can be promised: what was released may reveal any single {}. {}", theirs, change);
  if (epsilon == 0 && delta == 0) return "Nothing was released about anybody. " + change;
  const std::string except =
      delta > 0 ? fmt::format(", except with probability {}", rounded_up(delta, 3)) : std::string();
  const double factor = std::exp(epsilon);
  if (factor > 1e6)
    return fmt::format("The bound (a factor of more than a million{}) is too weak to protect a {} by itself. {}",
                       except, somebody, change);
  // Of two equally likely neighbours the better test errs with probability at least (1 - delta)/(1 + e^epsilon).
  const double right = 1 - (1 - delta) / (1 + factor);
  return fmt::format(
      "Any single {} could change the probability of any outcome by at most a factor {}{}. Somebody who "
      "thinks it equally likely that the {} one thing or another would guess right with a chance of at "
      "most {} %{}. {}",
      unit == Unit::kLabel ? theirs : somebody, rounded_up(factor, 3), except,
      unit == Unit::kLabel ? "label is" : fmt::format("{}'s data are", somebody), rounded_up(100 * right, 3),
      delta > 0 ? ", that exception included" : "", change);
}

}  // namespace parley::privacy
