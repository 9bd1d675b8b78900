// Packs text the way gzip, xz and zstd do.
#pragma once
#include <string>
#include <string_view>

namespace parley::test {

std::string gzipped(std::string_view text);
std::string xzipped(std::string_view text);
std::string zstandard(std::string_view text);

}  // namespace parley::test
