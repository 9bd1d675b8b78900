// Eight doubles worked on at once, in the same order on every CPU.
//
// A kernel is written once and compiled for several instruction sets; the one to run is chosen at
// run time. No operation is fused and sums are kept per lane, so all of them give the same bits.
#pragma once
#include <cstddef>
#include <cstring>

namespace parley::algorithms {

inline constexpr std::size_t kLanes = 8;
typedef double Lanes __attribute__((vector_size(64)));

#define PARLEY_INLINE __attribute__((always_inline)) inline
#if defined(__x86_64__)
#define PARLEY_TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,bmi2")))
#define PARLEY_TARGET_AVX2 __attribute__((target("avx2,bmi2")))
#else
#define PARLEY_TARGET_AVX512
#define PARLEY_TARGET_AVX2
#endif

enum class Isa { kBase, kAvx2, kAvx512 };

inline Isa isa() {
#if defined(__x86_64__)
  static const Isa found = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
                               ? Isa::kAvx512
                           : __builtin_cpu_supports("avx2") ? Isa::kAvx2
                                                            : Isa::kBase;
  return found;
#else
  return Isa::kBase;
#endif
}

PARLEY_INLINE void load(Lanes& lanes, const double* from) {
  std::memcpy(&lanes, from, sizeof lanes);
}

PARLEY_INLINE void store(const Lanes& lanes, double* to) {
  std::memcpy(to, &lanes, sizeof lanes);
}

PARLEY_INLINE double sum(const Lanes& lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

// PARLEY_KERNEL(result, name, (parameters), (arguments)) defines name() from an always-inline name_body() of
// the same parameters, compiled for each instruction set.
#define PARLEY_KERNEL(result, name, parameters, arguments) \
  PARLEY_TARGET_AVX512 result name##_avx512 parameters {   \
    return name##_body arguments;                          \
  }                                                        \
  PARLEY_TARGET_AVX2 result name##_avx2 parameters {       \
    return name##_body arguments;                          \
  }                                                        \
  result name##_base parameters {                          \
    return name##_body arguments;                          \
  }                                                        \
  result name parameters {                                 \
    switch (isa()) {                                       \
      case Isa::kAvx512:                                   \
        return name##_avx512 arguments;                    \
      case Isa::kAvx2:                                     \
        return name##_avx2 arguments;                      \
      default:                                             \
        return name##_base arguments;                      \
    }                                                      \
  }

}  // namespace parley::algorithms
