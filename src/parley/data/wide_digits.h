// Decimal digits in registers of 32 bytes, for machines that have them: x86 with AVX2, BMI, LZCNT and POPCNT.
// Callers ask have_wide_digits() first. All of it is exact.
#pragma once
#include <cstddef>
#include <cstdint>

#include "parley/data/number.h"
#include "parley/linalg/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#include <bit>

#define PARLEY_WIDE_DIGITS __attribute__((target("avx2,bmi,lzcnt,popcnt")))

namespace parley::data {

inline bool have_wide_digits() {
  static const bool kHasBitCounts = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kLzcnt = 1U << 5;  // compilers have no name for it that all of them know
    return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt") &&
           __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (c & kLzcnt) != 0;
  }();
  return kHasBitCounts && linalg::cpu_level() >= linalg::CpuLevel::kAvx2;
}

namespace wide {

// From kLastOnes + count on, 32 bytes of which the last `count` have all bits set.
alignas(64) inline constexpr struct LastOnes {
  unsigned char bytes[64] = {};
  constexpr LastOnes() {
    for (int i = 32; i < 64; ++i) bytes[i] = 0xFF;
  }
} kLastOnes;

PARLEY_WIDE_DIGITS inline __m256i last_ones(std::size_t count) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLastOnes.bytes + count));
}

// The value of 32 digits, '0' taken off, of which all but the last 20 are 0: joined to pairs, quadruples, eights, the
// number.
PARLEY_WIDE_DIGITS inline std::uint64_t value_of_last_twenty(__m256i digits) {
  const __m256i pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A));
  const __m256i quadruples = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00010064));
  const __m256i packed = _mm256_packus_epi32(quadruples, quadruples);
  const __m256i eights = _mm256_madd_epi16(packed, _mm256_set1_epi32(0x00012710));
  const auto high = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(eights)));
  const auto low = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_extracti128_si256(eights, 1)));
  return (high >> 32) * 10000000000000000 + (low & 0xFFFFFFFF) * 100000000 + (low >> 32);
}

// What can be read before the end of a number: 32 characters and one more.
inline constexpr std::ptrdiff_t kReachBack = 33;
// What can be read from the beginning of the text on, wherever Borders look.
inline constexpr std::ptrdiff_t kReach = 48;

// The number that fills [begin, stop): digits with at most a sign and a point, at most 19 of them; kReachBack
// characters before `stop` can be read. False when it is anything else, and for some long ones that it could be.
//
// Seen from its end a number has its last digit in its last place, however long it is: only the digits before the point
// have to move, by one.
PARLEY_WIDE_DIGITS inline bool plain_decimal(const char* begin, const char* stop, double& value) {
  using namespace detail;
  const bool negative = *begin == '-';
  const std::uint64_t sign = sign_bit(negative);
  const char* const first = begin + (static_cast<int>(negative) | static_cast<int>(*begin == '+'));
  const auto length = static_cast<std::size_t>(stop - first);
  if (length - 1 >= 20) return false;  // none, or more than 19 digits and a point
  const __m256i zero = _mm256_set1_epi8('0');
  const __m256i text = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(stop - 32));
  const __m256i digits = _mm256_sub_epi8(text, zero);
  const __m256i one_before = _mm256_sub_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(stop - 33)), zero);
  const __m256i is_digit = _mm256_cmpeq_epi8(_mm256_min_epu8(digits, _mm256_set1_epi8(9)), digits);
  const auto points = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(text, _mm256_set1_epi8('.'))));
  const std::uint32_t others = ~static_cast<std::uint32_t>(_mm256_movemask_epi8(is_digit)) & ~std::uint32_t{0}
                                                                                                 << (32 - length);
  const std::size_t count = length - static_cast<std::size_t>(others != 0);
  // All but at most one are digits, and that one is a point.
  if (((others & ~points) | (others & (others - 1))) != 0 || count == 0) return false;
  const auto behind =
      static_cast<std::size_t>(std::countl_zero(others));  // characters behind the point; 32 when there is none
  const __m256i joined = _mm256_and_si256(_mm256_blendv_epi8(one_before, digits, last_ones(behind)), last_ones(count));
  const std::uint64_t whole = value_of_last_twenty(joined);
  const std::size_t decimals = behind & 31;
  if (length <= 16) {  // an integer, or one of at most 15 digits over a power of ten: both exact
    value = with_sign(static_cast<double>(static_cast<std::int64_t>(whole)) / kPowersOfTen[decimals], sign);
    return true;
  }
  if (whole == 0 || decimals == 0) return false;
  value = with_sign(shortened(whole, static_cast<int>(decimals)), sign);
  return true;
}

// Where cells end.
//
// Many borders are found before the cells are read, so that where a cell begins does not wait for the reading
// of the one before it.
struct Borders {
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kBlock = 64;
  std::uint32_t at[kMost + kBlock + 12];  // counted from the place where the search began
  std::size_t count = 0;

  // Finds either character, at least `wanted` <= kMost times when the text has so many before `last`.
  PARLEY_WIDE_DIGITS void find(const char* begin, const char* last, char one, char other, std::size_t wanted) {
    const __m256i ones = _mm256_set1_epi8(one);
    const __m256i others = _mm256_set1_epi8(other);
    count = 0;
    for (const char* block = begin; count < wanted && last - block >= static_cast<std::ptrdiff_t>(kBlock);
         block += kBlock) {
      std::uint64_t found = matches(block, ones, others) | static_cast<std::uint64_t>(matches(block + 32, ones, others))
                                                               << 32;
      const auto base = static_cast<std::uint32_t>(block - begin);
      const auto here = static_cast<std::size_t>(std::popcount(found));
      std::uint32_t* next = at + count;
      // Their number is hard to foresee: a few more are written than there are, and written over by the next block.
      const auto write = [&](std::size_t times) {
        for (std::size_t k = 0; k < times; ++k, found &= found - 1)
          *next++ = base + static_cast<std::uint32_t>(std::countr_zero(found));
      };
      write(4);
      if (here > 4) write(8);
      if (here > 12) write(here - 12);
      count += here;
    }
  }

 private:
  PARLEY_WIDE_DIGITS static std::uint32_t matches(const char* text, __m256i ones, __m256i others) {
    const __m256i part = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text));
    return static_cast<std::uint32_t>(
        _mm256_movemask_epi8(_mm256_or_si256(_mm256_cmpeq_epi8(part, ones), _mm256_cmpeq_epi8(part, others))));
  }
};

}  // namespace wide

}  // namespace parley::data

#endif
