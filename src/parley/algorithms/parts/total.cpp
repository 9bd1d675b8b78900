#include "parley/algorithms/parts/total.h"

#include <cmath>

#include "parley/core/error.h"

namespace parley::algorithms {

namespace {

constexpr int kLow = 44, kFine = 56, kCoarse = 24;
constexpr double kRoom = 0x1p62;  // of a word's magnitude, over all parties

}  // namespace

Result<void> append_words(std::span<const double> numbers, double unit, Words precision, int parties,
                          std::vector<std::int64_t>& words) {
  const double room = kRoom / parties;
  const bool fine = precision == Words::kFine;
  words.reserve(words.size() + numbers.size() * static_cast<std::size_t>(precision));
  for (const double number : numbers) {
    const double scaled = std::ldexp(number / unit, fine ? kFine - kLow : kCoarse);
    const double high = fine ? std::floor(scaled) : std::nearbyint(scaled);
    if (!(std::abs(high) < room))
      return fail(bad_input({.field = "data"},
                            "holds numbers whose sums do not fit into the words of a masked total; "
                            "scale the columns (data.scale = \"bounds\") or set algorithm.masks = false"));
    words.push_back(static_cast<std::int64_t>(high));
    if (fine) words.push_back(static_cast<std::int64_t>(std::ldexp(scaled - high, kLow)));
  }
  return {};
}

std::vector<double> numbers_of(std::span<const std::int64_t> words, double unit, Words precision) {
  std::vector<double> numbers;
  if (precision == Words::kCoarse) {
    for (const std::int64_t word : words) numbers.push_back(std::ldexp(static_cast<double>(word), -kCoarse) * unit);
    return numbers;
  }
  for (std::size_t w = 0; w + 1 < words.size(); w += 2)
    numbers.push_back((std::ldexp(static_cast<double>(words[w]), kLow - kFine) +
                       std::ldexp(static_cast<double>(words[w + 1]), -kFine)) *
                      unit);
  return numbers;
}

}  // namespace parley::algorithms
