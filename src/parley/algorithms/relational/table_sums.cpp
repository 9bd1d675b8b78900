#include "parley/algorithms/relational/table_sums.h"

#include <cmath>

namespace parley::algorithms {

Result<std::vector<std::int64_t>> words_of(std::span<const double> numbers) {
  std::vector<std::int64_t> words;
  words.reserve(3 * numbers.size());
  for (const double x : numbers) {
    if (!(std::abs(x) < 0x1p59))
      return fail(failed("a sum over the table's rows is too large to be added up under masks"));
    const double high = std::trunc(x * 0x1p-20);
    const double below = x - high * 0x1p20;  // exact, as is the next difference
    const double middle = std::trunc(below * 0x1p20);
    const double low = std::nearbyint((below - middle * 0x1p-20) * 0x1p60);
    for (const double word : {high, middle, low}) words.push_back(static_cast<std::int64_t>(word));
  }
  return words;
}

std::vector<double> numbers_of(std::span<const std::int64_t> words) {
  std::vector<double> numbers(words.size() / 3);
  for (std::size_t k = 0; k < numbers.size(); ++k)
    numbers[k] = static_cast<double>(words[3 * k]) * 0x1p20 + static_cast<double>(words[3 * k + 1]) * 0x1p-20 +
                 static_cast<double>(words[3 * k + 2]) * 0x1p-60;
  return numbers;
}

}  // namespace parley::algorithms
