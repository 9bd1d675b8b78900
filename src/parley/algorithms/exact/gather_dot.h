// Inner product of a sparse row and a dense vector in single precision, sixteen entries at a time where the
// CPU gathers them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace parley::algorithms {

extern const bool kCanGather;  // AVX-512

float gather_dot(const std::uint16_t* columns, const float* values, std::size_t count, const float* w);
float gather_dot(const std::uint32_t* columns, const float* values, std::size_t count, const float* w);
// Entries that are all 1.
float gather_sum(const std::uint16_t* columns, std::size_t count, const float* w);
float gather_sum(const std::uint32_t* columns, std::size_t count, const float* w);

}  // namespace parley::algorithms
