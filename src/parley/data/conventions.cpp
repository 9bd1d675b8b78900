#include "parley/data/conventions.h"

#include <algorithm>
#include <array>

namespace parley::data {

namespace {

bool same_word(std::string_view a, std::string_view lower) {
  return std::equal(a.begin(), a.end(), lower.begin(), lower.end(),
                    [](char x, char y) { return (x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x) == y; });
}

}  // namespace

bool is_id_name(std::string_view name) {
  return same_word(name, "id") || same_word(name, "sid");
}

int label_rank(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"y", "label", "target", "class"};
  for (std::size_t rank = 0; rank < kNames.size(); ++rank)
    if (same_word(name, kNames[rank])) return static_cast<int>(rank);
  return -1;
}

}  // namespace parley::data
