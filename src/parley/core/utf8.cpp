#include "parley/core/utf8.h"

#include <cstdint>

namespace parley {

std::size_t utf8_character(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t where) { return static_cast<unsigned char>(text[where]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return 1;
  const std::size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first > 0xf4 || at + more >= text.size()) return 0;
  std::uint32_t point = first & (0x3f >> more);
  for (std::size_t k = 1; k <= more; ++k) {
    if ((byte(at + k) & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte(at + k) & 0x3f);
  }
  const bool overlong = (more == 2 && point < 0x800) || (more == 3 && point < 0x10000);
  if (overlong || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return 0;
  return more + 1;
}

}  // namespace parley
