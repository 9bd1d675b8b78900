#include "parley/wire/finite.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace parley::wire {

namespace {

// Infinities and NaNs are the numbers whose exponent bits are all ones. Adding one to the exponent of |x|
// then, and only then, carries into the sign: integer operations, which the compiler turns into vectors, in
// the pass that copies.
template <class T>
[[gnu::always_inline]] inline bool copy(const char* from, std::size_t size, T* to) {
  using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr Word kSign = Word{1} << (8 * sizeof(T) - 1);
  constexpr Word kOne = Word{1} << (std::numeric_limits<T>::digits - 1);
  Word carried = 0;
  for (std::size_t i = 0; i < size; ++i) {
    Word word;
    std::memcpy(&word, from + i * sizeof(T), sizeof(T));
    carried |= (word & ~kSign) + kOne;
    to[i] = std::bit_cast<T>(word);
  }
  return (carried & kSign) == 0;
}

template <class T>
bool copy_anywhere(const char* from, std::size_t size, T* to) {
  return copy(from, size, to);
}
#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2"))) bool copy_avx2(const char* from, std::size_t size, T* to) {
  return copy(from, size, to);
}
template <class T>
auto best() {
  return __builtin_cpu_supports("avx2") ? &copy_avx2<T> : &copy_anywhere<T>;
}
#else
template <class T>
auto best() {
  return &copy_anywhere<T>;
}
#endif

}  // namespace

bool copy_finite(const char* from, std::size_t size, double* to) {
  static const auto copy_with = best<double>();
  return copy_with(from, size, to);
}
bool copy_finite(const char* from, std::size_t size, float* to) {
  static const auto copy_with = best<float>();
  return copy_with(from, size, to);
}

}  // namespace parley::wire
