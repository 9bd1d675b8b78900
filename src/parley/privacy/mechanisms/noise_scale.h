// What the noises have in common: which scales they take, and how noise is added to many numbers.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "parley/core/result.h"
#include "parley/privacy/mechanisms/grain.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

// The scale in grains, when it lies between 2^-20 and 2^40 of them. Below that, the noise would hardly ever be anything
// but zero; above it, the grid is finer than any use of it and sums come near the end of 64 bits.
Result<double> noise_scale_in_grains(std::string_view field, double scale, Grain grain);

template <class Noise>
void add_in_blocks(const Noise& noise, std::span<std::int64_t> steps, Bits& bits) {
  std::array<std::int64_t, 512> block;
  while (!steps.empty()) {
    const std::span drawn(block.data(), std::min(block.size(), steps.size()));
    noise.draw(bits, drawn);
    add_noise(steps.first(drawn.size()), drawn);
    steps = steps.subspan(drawn.size());
  }
}

}  // namespace parley::privacy
