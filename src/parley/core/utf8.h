// Characters in UTF-8.
#pragma once
#include <cstddef>
#include <string_view>

namespace parley {

// Bytes of the character that begins at `at`, or 0 where none does: well-formed sequences of the Unicode standard,
// table 3-7, without overlong forms, surrogates or values above U+10FFFF.
std::size_t utf8_character(std::string_view text, std::size_t at);

}  // namespace parley
