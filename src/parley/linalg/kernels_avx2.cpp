// The kernels for machines with AVX2 and FMA.
//
// Only what stands between the pragmas is compiled for that machine: a standard-library template
// compiled with wider instructions could otherwise be the copy the linker keeps for all.
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "parley/linalg/kernels.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

namespace parley::linalg {

namespace {

using Vector = __m256d;
constexpr std::size_t kWidth = 4;
#define PARLEY_OF(operation) _mm256_##operation
#include "parley/linalg/kernel_vectors.inc"

inline Vector load(const float* p) {
  return _mm256_cvtps_pd(_mm_loadu_ps(p));
}
inline Vector load(const std::int16_t* p) {
  return _mm256_cvtepi32_pd(_mm_cvtepi16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
inline Vector load(const std::int8_t* p) {
  int four;
  std::memcpy(&four, p, sizeof four);
  return _mm256_cvtepi32_pd(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(four)));
}
inline Vector multiply_add(Vector a, Vector b, Vector c) {
  return _mm256_fmadd_pd(a, b, c);
}
inline Vector magnitude(Vector a) {
  return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
}
inline double multiply_add(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

#include "parley/linalg/kernel_loops.inc"

}  // namespace

const Kernels& kernels_avx2() {
  static const Kernels table = make_table();
  return table;
}

}  // namespace parley::linalg

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
