// Sums over the parties of one table, of which nobody sees a summand: numbers as whole ones that add up exactly, whatever
// the order, and fit under a mask word by word (privacy/masking/pairwise_masks.h).
//
//   x  =  2^20 w_2 + 2^-20 w_1 + 2^-60 w_0,    |w_i| <= 2^40,    |x| < 2^59
//
// rounded to 2^-60; 2^20 parties' words add up to less than 2^62. Nothing is claimed for the sum: it has no noise.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "parley/core/result.h"

namespace parley::algorithms {

Result<std::vector<std::int64_t>> words_of(std::span<const double> numbers);  // three for each
std::vector<double> numbers_of(std::span<const std::int64_t> words);

}  // namespace parley::algorithms
