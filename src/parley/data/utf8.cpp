#include "parley/data/utf8.h"

#include <cstdint>

namespace parley::data {

// Well-formed sequences of the Unicode standard, table 3-7: no overlong forms, surrogates or values
// above U+10FFFF.
bool is_utf8(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  for (std::size_t at = 0; at < text.size();) {
    const unsigned char first = byte(at);
    if (first < 0x80) {
      ++at;
      continue;
    }
    const std::size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || at + more >= text.size()) return false;
    std::uint32_t point = first & (0x3f >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      if ((byte(at + k) & 0xc0) != 0x80) return false;
      point = point << 6 | (byte(at + k) & 0x3f);
    }
    if ((more == 2 && point < 0x800) || (more == 3 && point < 0x10000) || point > 0x10ffff ||
        (point >= 0xd800 && point <= 0xdfff))
      return false;
    at += more + 1;
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  for (const char c : text) {
    const auto value = static_cast<unsigned char>(c);
    if (value < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xc0 | value >> 6);
      out += static_cast<char>(0x80 | (value & 0x3f));
    }
  }
  return out;
}

}  // namespace parley::data
