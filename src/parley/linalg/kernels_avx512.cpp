// The kernels for machines with AVX-512 (F, VL, DQ, BW).
//
// Only what stands between the pragmas is compiled for that machine: a standard-library template
// compiled with wider instructions could otherwise be the copy the linker keeps for all.
#if !defined(__clang__)
// GCC 12 takes the deliberately undefined vectors inside its own intrinsics for a mistake of ours.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "parley/linalg/kernels.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")
#endif

namespace parley::linalg {

namespace {

using Vector = __m512d;
constexpr std::size_t kWidth = 8;
#define PARLEY_OF(operation) _mm512_##operation
#include "parley/linalg/kernel_vectors.inc"

inline Vector load(const float* p) {
  return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}
inline Vector load(const std::int16_t* p) {
  return _mm512_cvtepi32_pd(_mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
inline Vector load(const std::int8_t* p) {
  return _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
inline Vector multiply_add(Vector a, Vector b, Vector c) {
  return _mm512_fmadd_pd(a, b, c);
}
inline Vector magnitude(Vector a) {
  return _mm512_abs_pd(a);
}
inline double multiply_add(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

// The machines of this level gather as fast as they load.
#define PARLEY_GATHERS
inline __mmask8 first(std::size_t lanes) {
  return static_cast<__mmask8>((1U << lanes) - 1);
}
inline Vector gather(const double* x, const Index* at) {
  return _mm512_i32gather_pd(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)), x, sizeof(double));
}
inline Vector gather_first(const double* x, const Index* at, std::size_t lanes) {
  return _mm512_mask_i32gather_pd(zero(), first(lanes), _mm256_maskz_loadu_epi32(first(lanes), at), x, sizeof(double));
}
inline Vector load_first(const double* p, std::size_t lanes) {
  return _mm512_maskz_loadu_pd(first(lanes), p);
}
inline Vector load_first(const float* p, std::size_t lanes) {
  return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(first(lanes), p));
}
inline Vector load_first(const std::int16_t* p, std::size_t lanes) {
  return _mm512_cvtepi32_pd(_mm256_cvtepi16_epi32(_mm_maskz_loadu_epi16(first(lanes), p)));
}
inline Vector load_first(const std::int8_t* p, std::size_t lanes) {
  return _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(_mm_maskz_loadu_epi8(first(lanes), p)));
}

#include "parley/linalg/kernel_loops.inc"

}  // namespace

const Kernels& kernels_avx512() {
  static const Kernels table = make_table();
  return table;
}

}  // namespace parley::linalg

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
