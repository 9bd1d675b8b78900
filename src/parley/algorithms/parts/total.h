// Sums over parties of which a coordinator may learn the total and no part: numbers become whole ones, whose masks
// cancel (parts/mask_keys.h).
//
//   fine      v / unit  =  (h 2^44 + l) 2^-56,   0 <= l < 2^44      two words; |v| < 2^48 unit / parties
//   coarse    v / unit  ~  h 2^-24                                  one word;  |v| < 2^38 unit / parties
//
// Words are added modulo 2^64, and the words l of fewer than 2^18 parties do not overflow. `unit` is public and the same
// for all parties: the size of one record's part, so that a sum is exact to 2^-56 of that (2^-24 for coarse ones). A
// number that does not fit, or is none, is an error: nothing is sent.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parley/core/result.h"

namespace parley::algorithms {

inline constexpr int kMostInTotal = 1 << 16;  // parties

enum class Words { kFine = 2, kCoarse = 1 };  // for a number

// Adds the words of these numbers to `words`.
Result<void> append_words(std::span<const double> numbers, double unit, Words precision, int parties,
                          std::vector<std::int64_t>& words);

// The numbers whose words these are: of a total, or of one party without masks.
std::vector<double> numbers_of(std::span<const std::int64_t> words, double unit, Words precision);

}  // namespace parley::algorithms
