#include "parley/wire/finite.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace parley::wire {

namespace {

// Infinities and NaNs are the numbers whose exponent bits are all ones. Adding one to the exponent of |x|
// then, and only then, carries into the sign: integer operations, which the compiler turns into vectors.
template <class T>
[[gnu::always_inline]] inline bool finite(const T* values, std::size_t size) {
  using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr Word kSign = Word{1} << (8 * sizeof(T) - 1);
  constexpr Word kOne = Word{1} << (std::numeric_limits<T>::digits - 1);
  Word carried = 0;
  for (std::size_t i = 0; i < size; ++i) carried |= (std::bit_cast<Word>(values[i]) & ~kSign) + kOne;
  return (carried & kSign) == 0;
}

template <class T>
bool finite_anywhere(const T* values, std::size_t size) {
  return finite(values, size);
}
#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2"))) bool finite_avx2(const T* values, std::size_t size) {
  return finite(values, size);
}
template <class T>
bool (*chosen())(const T*, std::size_t) {
  return __builtin_cpu_supports("avx2") ? &finite_avx2<T> : &finite_anywhere<T>;
}
#else
template <class T>
bool (*chosen())(const T*, std::size_t) {
  return &finite_anywhere<T>;
}
#endif

// Block by block, so that what was copied is looked at while it is still near.
template <class T>
bool copy(const char* from, std::size_t size, T* to) {
  static bool (*const all_finite)(const T*, std::size_t) = chosen<T>();
  constexpr std::size_t kBlock = 8192 / sizeof(T);
  bool good = true;
  for (std::size_t i = 0; i < size; i += kBlock) {
    const std::size_t count = std::min(kBlock, size - i);
    std::memcpy(to + i, from + i * sizeof(T), count * sizeof(T));
    good = all_finite(to + i, count) && good;
  }
  return good;
}

}  // namespace

bool copy_finite(const char* from, std::size_t size, double* to) {
  return copy(from, size, to);
}
bool copy_finite(const char* from, std::size_t size, float* to) {
  return copy(from, size, to);
}

}  // namespace parley::wire
