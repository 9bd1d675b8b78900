#include "parley/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "parley/core/utf8.h"

namespace parley {

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  out.reserve(std::min(text.size(), limit + 3));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_character(text, at);
    if (out.size() + std::max<std::size_t>(length, 1) > limit) return out + "...";
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0 || byte < 0x20 || byte == 0x7f)
      out += '?';
    else
      out += text.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return out;
}

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string closest(std::string_view word, std::span<const std::string> names) {
  // Long garbage is nobody's typing mistake, and the distance is quadratic.
  if (word.size() > 64) return {};
  std::string best;
  std::size_t best_distance = 1 + std::max<std::size_t>(2, word.size() / 3);
  for (const auto& name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string> names) {
  if (const std::string near = closest(word, names); !near.empty()) return fmt::format("; did you mean '{}'?", near);
  if (names.empty()) return {};
  return fmt::format("; known: {}", fmt::join(names, ", "));
}

std::string human_bytes(double bytes) {
  static constexpr std::array<const char*, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 || bytes >= 100 ? fmt::format("{:.0f} {}", bytes, kUnits.at(unit))
                                   : fmt::format("{:.1f} {}", bytes, kUnits.at(unit));
}

std::string with_commas(long long count) {
  std::string digits = std::to_string(count);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string counted(long long count, std::string_view one, std::string_view several) {
  if (count == 1) return fmt::format("1 {}", one);
  return several.empty() ? fmt::format("{} {}s", with_commas(count), one)
                         : fmt::format("{} {}", with_commas(count), several);
}

}  // namespace parley
