#include "parley/data/utf8.h"

#include "parley/core/utf8.h"

namespace parley::data {

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_character(text, at);
    if (length == 0) return false;
    at += length;
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
