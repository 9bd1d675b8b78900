// Decimal digits in registers of 32 bytes, for machines that have them: x86 with AVX2, BMI and POPCNT.
// Callers ask have_wide_digits() first. All of it is exact.
#pragma once
#include <cstddef>
#include <cstdint>

#include "parley/data/number.h"
#include "parley/linalg/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <bit>

#define PARLEY_WIDE_DIGITS __attribute__((target("avx2,bmi,popcnt")))

namespace parley::data {

inline bool have_wide_digits() {
  static const bool kHasBitCounts = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
  return kHasBitCounts && linalg::cpu_level() >= linalg::CpuLevel::kAvx2;
}

namespace wide {

// From kToTheEnd + count on, 16 places for `count` from 0 to 16: the first `count` characters move to the end
// of the register, zeros come before.
alignas(64) inline constexpr signed char kToTheEnd[33] = {-128, -128, -128, -128, -128, -128, -128, -128, -128, -128, -128,
                                                          -128, -128, -128, -128, -128, 0,    1,    2,    3,    4,    5,
                                                          6,    7,    8,    9,    10,   11,   12,   13,   14,   15,   -128};

// The value of 16 digits, '0' taken off: joined to pairs, quadruples, eights, the number.
PARLEY_WIDE_DIGITS inline std::uint64_t value_of_sixteen(__m128i digits) {
  const __m128i pairs = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010A));
  const __m128i quadruples = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00010064));
  const __m128i packed = _mm_packus_epi32(quadruples, quadruples);
  const __m128i eights = _mm_madd_epi16(packed, _mm_set1_epi32(0x00012710));
  const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
  return (both & 0xFFFFFFFF) * 100000000 + (both >> 32);
}

// From the beginning of a number: a sign and 32 characters, or 17 and a word.
inline constexpr std::ptrdiff_t kReach = 48;

// The number that fills [begin, stop): digits with at most a sign and a point, at most 19 of them; kReach
// characters can be read. False when it is anything else, and for some long ones that it could be.
PARLEY_WIDE_DIGITS inline bool plain_decimal(const char* begin, const char* stop, double& value) {
  using namespace detail;
  const bool negative = *begin == '-';
  const char* const first = begin + (static_cast<int>(negative) | static_cast<int>(*begin == '+'));
  const auto length = static_cast<std::size_t>(stop - first);
  if (length - 1 >= 20) return false;  // none, or more than 19 digits and a point
  const __m256i zero = _mm256_set1_epi8('0');
  const __m256i digits = _mm256_sub_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(first)), zero);
  const __m256i is_digit = _mm256_cmpeq_epi8(_mm256_min_epu8(digits, _mm256_set1_epi8(9)), digits);
  const std::uint32_t others = ~static_cast<std::uint32_t>(_mm256_movemask_epi8(is_digit)) & ((1U << length) - 1);
  const __m128i sixteen = _mm256_castsi256_si128(digits);
  if (others == 0) {  // an integer
    if (length >= 16) return false;
    const __m128i order = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kToTheEnd + length));
    const auto whole = static_cast<std::int64_t>(value_of_sixteen(_mm_shuffle_epi8(sixteen, order)));
    value = with_sign(static_cast<double>(whole), negative);
    return true;
  }
  const auto before = static_cast<std::size_t>(std::countr_zero(others));
  const std::size_t count = length - 1;
  if ((others & (others - 1)) != 0 || first[before] != '.' || count == 0 || before > 16) return false;
  // The digits behind the point close up to those before it.
  const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m128i moved = _mm_sub_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first + 1)), _mm256_castsi256_si128(zero));
  const __m128i stays = _mm_cmpgt_epi8(_mm_set1_epi8(static_cast<char>(before)), places);
  const __m128i joined = _mm_blendv_epi8(moved, sixteen, stays);
  const std::size_t decimals = count - before;
  if (count < 16) {
    const __m128i order = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kToTheEnd + count));
    const auto whole = static_cast<std::int64_t>(value_of_sixteen(_mm_shuffle_epi8(joined, order)));
    value = with_sign(static_cast<double>(whole) / kPowersOfTen[decimals], negative);  // both exact
    return true;
  }
  const auto rest = static_cast<int>(count - 16);
  const std::uint64_t whole = value_of_sixteen(joined) * kSmallPowers[rest] + value_of_first(load_digits(first + 17), rest);
  if (whole == 0 || decimals == 0) return false;
  value = with_sign(shortened(whole, static_cast<int>(decimals)), negative);
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
    for (const char* block = begin; count < wanted && last - block >= static_cast<std::ptrdiff_t>(kBlock); block += kBlock) {
      std::uint64_t found = matches(block, ones, others) | static_cast<std::uint64_t>(matches(block + 32, ones, others)) << 32;
      const auto base = static_cast<std::uint32_t>(block - begin);
      const auto here = static_cast<std::size_t>(std::popcount(found));
      std::uint32_t* next = at + count;
      // Their number is hard to foresee: a few more are written than there are, and written over by the next
      // block.
      const auto write = [&](std::size_t times) {
        for (std::size_t k = 0; k < times; ++k, found &= found - 1) *next++ = base + static_cast<std::uint32_t>(std::countr_zero(found));
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
