// Names and levels are UTF-8 wherever they go on to (settings, models, reports). Text that is not is
// taken for Latin-1, the other encoding that tables come in.
#pragma once
#include <string>
#include <string_view>

namespace parley::data {

bool is_utf8(std::string_view text);
std::string as_utf8(std::string_view text);

}  // namespace parley::data
