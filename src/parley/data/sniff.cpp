#include "parley/data/sniff.h"

#include <array>
#include <string_view>

#include "parley/data/foreign.h"
#include "parley/data/libsvm.h"

namespace parley::data {

Result<Format> sniff_format(const OpenBytes& open, const std::string& file_name) {
  PARLEY_TRY(auto bytes, open());
  std::array<char, 1 << 14> start{};
  PARLEY_TRY(const std::size_t got, bytes->read(start));
  std::string_view text(start.data(), got);
  PARLEY_CHECK(refuse_foreign(text, file_name));
  // A LIBSVM record without features is a number alone; the lines after it decide.
  for (int line_number = 0; !text.empty() && line_number < 100; ++line_number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty() || line[0] == '#') continue;
    if (looks_like_libsvm(line)) return Format::kLibsvm;
    if (line.find_first_of(",;|\t") != std::string_view::npos) return Format::kCsv;
  }
  return Format::kCsv;
}

}  // namespace parley::data
