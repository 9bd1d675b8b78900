// The kernels for every x86-64 machine (SSE2).
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "parley/linalg/kernels.h"

namespace parley::linalg {

namespace {

using Vector = __m128d;
constexpr std::size_t kWidth = 2;
#define PARLEY_OF(operation) _mm_##operation
#include "parley/linalg/kernel_vectors.inc"

inline Vector load(const float* p) {
  return _mm_set_pd(p[1], p[0]);
}
inline Vector load(const std::int16_t* p) {
  return _mm_set_pd(p[1], p[0]);
}
inline Vector load(const std::int8_t* p) {
  return _mm_set_pd(p[1], p[0]);
}
inline Vector multiply_add(Vector a, Vector b, Vector c) {
  return _mm_add_pd(_mm_mul_pd(a, b), c);
}
inline Vector magnitude(Vector a) {
  return _mm_andnot_pd(_mm_set1_pd(-0.0), a);
}
inline double multiply_add(double a, double b, double c) {
  return a * b + c;
}

#include "parley/linalg/kernel_loops.inc"

}  // namespace

const Kernels& kernels_baseline() {
  static const Kernels table = make_table();
  return table;
}

}  // namespace parley::linalg
