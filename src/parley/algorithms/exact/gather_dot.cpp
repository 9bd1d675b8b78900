#include "parley/algorithms/exact/gather_dot.h"

#if defined(__x86_64__)
// GCC 12 takes the deliberately undefined operand inside its own intrinsics for a mistake.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#endif

namespace parley::algorithms {

#if defined(__x86_64__)

const bool kCanGather =
    __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");

namespace {

#define PARLEY_GATHERS __attribute__((target("avx512f,avx512bw,avx512vl,avx2,fma")))

PARLEY_GATHERS inline __m512i wide(const std::uint16_t* columns, __mmask16 mask) {
  return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, columns));
}
PARLEY_GATHERS inline __m512i wide(const std::uint32_t* columns, __mmask16 mask) {
  return _mm512_maskz_loadu_epi32(mask, columns);
}
PARLEY_GATHERS inline __m512 wide(const float* values, __mmask16 mask) {
  return _mm512_maskz_loadu_ps(mask, values);
}

constexpr __mmask16 kAll = 0xFFFF;

inline __mmask16 first(std::size_t count) {
  return static_cast<__mmask16>((1U << count) - 1U);
}

template <class Column>
PARLEY_GATHERS inline float dot_of(const Column* columns, const float* values, std::size_t count, const float* w) {
  __m512 even = _mm512_setzero_ps();
  __m512 odd = _mm512_setzero_ps();
  std::size_t k = 0;
  for (; k + 32 <= count; k += 32) {
    even = _mm512_fmadd_ps(_mm512_i32gather_ps(wide(columns + k, kAll), w, 4), wide(values + k, kAll), even);
    odd = _mm512_fmadd_ps(_mm512_i32gather_ps(wide(columns + k + 16, kAll), w, 4), wide(values + k + 16, kAll), odd);
  }
  for (; k < count; k += 16) {
    const __mmask16 mask = count - k >= 16 ? kAll : first(count - k);
    const __m512 gathered = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, wide(columns + k, mask), w, 4);
    even = _mm512_fmadd_ps(gathered, wide(values + k, mask), even);
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(even, odd));
}

template <class Column>
PARLEY_GATHERS inline float sum_of(const Column* columns, std::size_t count, const float* w) {
  __m512 total = _mm512_setzero_ps();
  for (std::size_t k = 0; k < count; k += 16) {
    const __mmask16 mask = count - k >= 16 ? kAll : first(count - k);
    total = _mm512_add_ps(total, _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, wide(columns + k, mask), w, 4));
  }
  return _mm512_reduce_add_ps(total);
}

}  // namespace

PARLEY_GATHERS float gather_dot(const std::uint16_t* columns, const float* values, std::size_t count, const float* w) {
  return dot_of(columns, values, count, w);
}
PARLEY_GATHERS float gather_dot(const std::uint32_t* columns, const float* values, std::size_t count, const float* w) {
  return dot_of(columns, values, count, w);
}
PARLEY_GATHERS float gather_sum(const std::uint16_t* columns, std::size_t count, const float* w) {
  return sum_of(columns, count, w);
}
PARLEY_GATHERS float gather_sum(const std::uint32_t* columns, std::size_t count, const float* w) {
  return sum_of(columns, count, w);
}

#pragma GCC diagnostic pop

#else

const bool kCanGather = false;

namespace {

template <class Column>
float dot_of(const Column* columns, const float* values, std::size_t count, const float* w) {
  float sum = 0;
  for (std::size_t k = 0; k < count; ++k) sum += values[k] * w[columns[k]];
  return sum;
}

template <class Column>
float sum_of(const Column* columns, std::size_t count, const float* w) {
  float sum = 0;
  for (std::size_t k = 0; k < count; ++k) sum += w[columns[k]];
  return sum;
}

}  // namespace

float gather_dot(const std::uint16_t* columns, const float* values, std::size_t count, const float* w) {
  return dot_of(columns, values, count, w);
}
float gather_dot(const std::uint32_t* columns, const float* values, std::size_t count, const float* w) {
  return dot_of(columns, values, count, w);
}
float gather_sum(const std::uint16_t* columns, std::size_t count, const float* w) {
  return sum_of(columns, count, w);
}
float gather_sum(const std::uint32_t* columns, std::size_t count, const float* w) {
  return sum_of(columns, count, w);
}

#endif

}  // namespace parley::algorithms
