#include "parley/algorithms/frank_wolfe_scan.h"

#include <algorithm>
#include <cassert>

#include "parley/linalg/cpu.h"

namespace parley::algorithms {

namespace {

constexpr std::size_t kBlock = 2048;
constexpr std::size_t kLanes = 32;  // enough independent maxima to hide the latency of one

// Largest size in [begin, end).
inline __attribute__((always_inline)) double largest_of(double s, const double* x, const double* c,
                                                        std::size_t count) {
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double size = __builtin_fabs(s * x[i + l] - c[i + l]);
      lanes[l] = lanes[l] < size ? size : lanes[l];
    }
  for (; i < count; ++i) lanes[0] = std::max(lanes[0], __builtin_fabs(s * x[i] - c[i]));
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) lanes[l] = lanes[l] < lanes[l + half] ? lanes[l + half] : lanes[l];
  return lanes[0];
}

double largest_baseline(double s, const double* x, const double* c, std::size_t count) {
  return largest_of(s, x, c, count);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) double largest_avx2(double s, const double* x, const double* c,
                                                    std::size_t count) {
  return largest_of(s, x, c, count);
}
__attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512"))) double largest_avx512(
    double s, const double* x, const double* c, std::size_t count) {
  return largest_of(s, x, c, count);
}
#endif

}  // namespace

Largest largest_difference(double s, std::span<const double> x, std::span<const double> c) {
  assert(x.size() == c.size());
  auto* largest = &largest_baseline;
#if defined(__x86_64__)
  if (linalg::cpu_level() == linalg::CpuLevel::kAvx2) largest = &largest_avx2;
  if (linalg::cpu_level() == linalg::CpuLevel::kAvx512) largest = &largest_avx512;
#endif
  Largest best{0, -1};
  std::size_t best_block = 0;
  for (std::size_t at = 0; at < x.size(); at += kBlock) {
    const double size = largest(s, x.data() + at, c.data() + at, std::min(kBlock, x.size() - at));
    if (size > best.size) {
      best.size = size;
      best_block = at;
    }
  }
  // The same sums again, in strides of the lanes until one has it.
  best.index = best_block;
  while (best.index + kLanes <= x.size() &&
         largest(s, x.data() + best.index, c.data() + best.index, kLanes) != best.size)
    best.index += kLanes;
  while (__builtin_fabs(s * x[best.index] - c[best.index]) != best.size) ++best.index;
  return best;
}

}  // namespace parley::algorithms
