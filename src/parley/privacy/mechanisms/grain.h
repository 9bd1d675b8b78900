// The grid that released numbers live on: whole multiples of a public power of two.
//
// Rounding an answer to the grid can move two neighbours apart, so it is part of the sensitivity, in grains:
//   one value, rounded down or to nearest           ceil(Delta / g)
//   d values                                        Delta / g + d (l1), Delta / g + sqrt(d) (l2)
//   contributions rounded towards zero and summed   no change, since no norm grows
// The proofs are in grain.md.
#pragma once
#include <cstdint>
#include <span>

#include "parley/core/result.h"

namespace parley::privacy {

struct Grain {
  int exponent = 0;

  [[nodiscard]] double value() const;
  [[nodiscard]] double grains(double quantity) const;  // quantity / value(), exact unless it leaves the doubles
  bool operator==(const Grain&) const = default;

  // The largest power of two that is at most quantity / 2^bits.
  static Result<Grain> below(double quantity, int bits = 20);
};

// No number on the grid is farther from zero; noise has room beyond.
inline constexpr std::int64_t kGridLimit = std::int64_t{1} << 62;

Result<void> validate(Grain grain);

Result<std::int64_t> rounded_down(double value, Grain grain);
Result<std::int64_t> rounded_to_nearest(double value, Grain grain);  // halves go up
Result<std::int64_t> rounded_towards_zero(double value, Grain grain);
double from_grid(std::int64_t steps, Grain grain);

// Sensitivities in grains of answers that were rounded down or to nearest after they were computed.
Result<std::int64_t> rounded_sensitivity(double sensitivity, Grain grain);
Result<double> rounded_l1_sensitivity(double sensitivity, Grain grain, std::size_t dimensions);
Result<double> rounded_l2_sensitivity(double sensitivity, Grain grain, std::size_t dimensions);

// steps[i] + noise[i], held inside the 64-bit integers; what is done after the noise costs nothing.
void add_noise(std::span<std::int64_t> steps, std::span<const std::int64_t> noise);

}  // namespace parley::privacy
