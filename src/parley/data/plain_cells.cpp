#include "parley/data/plain_cells.h"

#include <algorithm>
#include <bit>

#include "parley/data/number.h"
#include "parley/linalg/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace parley::data {

namespace {

PlainCells read_baseline(const char* p, const char* end, char delimiter, std::span<double* const> columns,
                         std::size_t row) {
  std::size_t k = 0;
  for (; k < columns.size() && columns[k] != nullptr; ++k) {
    const ParsedNumber parsed = parse_number(p, end);
    if (parsed.error != NumberError::kNone || parsed.end == end || *parsed.end != delimiter) break;
    columns[k][row] = parsed.value;
    p = parsed.end + 1;
  }
  return {k, p};
}

#if defined(__x86_64__)

// 16 places for each of the counts 0 to 16: the first `count` characters move to the end of the register,
// zeros come before.
alignas(64) constexpr signed char kToTheEnd[33] = {
    -128, -128, -128, -128, -128, -128, -128, -128, -128, -128, -128, -128, -128, -128, -128, -128, 0,
    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15,   -128};

// The value of 16 digits, '0' taken off: joined to pairs, quadruples, eights, the number.
__attribute__((target("avx2,bmi,popcnt"))) inline std::uint64_t value_of_sixteen(__m128i digits) {
  const __m128i pairs = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010A));
  const __m128i quadruples = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00010064));
  const __m128i packed = _mm_packus_epi32(quadruples, quadruples);
  const __m128i eights = _mm_madd_epi16(packed, _mm_set1_epi32(0x00012710));
  const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
  return (both & 0xFFFFFFFF) * 100000000 + (both >> 32);
}

// Where the next delimiters are, counted from `p`: at least `wanted` of them when the text has so many before
// `last`.
struct Borders {
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kBlock = 64;
  std::uint32_t at[kMost + kBlock + 12];
  std::size_t count = 0;

  __attribute__((target("avx2,bmi,popcnt"))) void find(const char* p, const char* last, char delimiter,
                                                       std::size_t wanted) {
    const __m256i sought = _mm256_set1_epi8(delimiter);
    count = 0;
    for (const char* block = p; count < wanted && last - block >= static_cast<std::ptrdiff_t>(kBlock);
         block += kBlock) {
      const auto* halves = reinterpret_cast<const __m256i*>(block);
      const auto low = static_cast<std::uint32_t>(
          _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(halves), sought)));
      const auto high = static_cast<std::uint32_t>(
          _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(halves + 1), sought)));
      std::uint64_t found = low | static_cast<std::uint64_t>(high) << 32;
      const auto base = static_cast<std::uint32_t>(block - p);
      const auto here = static_cast<std::size_t>(std::popcount(found));
      std::uint32_t* next = at + count;
      // Their number is hard to foresee: a few more are written than there are, and written over by the next
      // block.
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
};

// The borders of many cells first, then the cells: where one begins does not wait for the reading of the one
// before.
__attribute__((target("avx2,bmi,popcnt"))) PlainCells read_avx2(const char* p, const char* const end,
                                                                char delimiter,
                                                                std::span<double* const> columns,
                                                                std::size_t row) {
  using namespace detail;
  constexpr std::ptrdiff_t kReach =
      48;  // from the beginning of a cell: a sign and 32 characters, or 17 and a word
  const __m256i zero = _mm256_set1_epi8('0');
  const __m256i nine = _mm256_set1_epi8(9);
  const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  Borders borders;
  std::size_t k = 0;
  while (k < columns.size() && end - p > kReach) {
    borders.find(p, end - kReach, delimiter, std::min(Borders::kMost, columns.size() - k));
    if (borders.count == 0) break;
    const char* const base = p;
    for (std::size_t b = 0; b < borders.count; ++b, ++k) {
      if (k == columns.size() || columns[k] == nullptr) return {k, p};
      const char* const stop = base + borders.at[b];
      const bool negative = *p == '-';
      const char* const first = p + (static_cast<int>(negative) | static_cast<int>(*p == '+'));
      const auto length = static_cast<std::size_t>(stop - first);
      if (length - 1 >= 20) return {k, p};  // none, or more than 19 digits and a point
      const __m256i digits =
          _mm256_sub_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(first)), zero);
      const __m256i is_digit = _mm256_cmpeq_epi8(_mm256_min_epu8(digits, nine), digits);
      const std::uint32_t others =
          ~static_cast<std::uint32_t>(_mm256_movemask_epi8(is_digit)) & ((1U << length) - 1);
      const __m128i sixteen = _mm256_castsi256_si128(digits);
      double magnitude;
      if (others == 0) {  // an integer
        if (length >= 16) return {k, p};
        const __m128i order = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kToTheEnd + length));
        magnitude = static_cast<double>(
            static_cast<std::int64_t>(value_of_sixteen(_mm_shuffle_epi8(sixteen, order))));
      } else {
        const auto whole = static_cast<std::size_t>(std::countr_zero(others));
        const std::size_t count = length - 1;
        if ((others & (others - 1)) != 0 || first[whole] != '.' || count == 0 || whole > 16) return {k, p};
        // The digits behind the point close up to those before it.
        const __m128i behind = _mm_sub_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first + 1)),
                                            _mm256_castsi256_si128(zero));
        const __m128i is_before = _mm_cmpgt_epi8(_mm_set1_epi8(static_cast<char>(whole)), places);
        const __m128i joined = _mm_blendv_epi8(behind, sixteen, is_before);
        const std::size_t decimals = count - whole;
        if (count < 16) {
          const __m128i order = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kToTheEnd + count));
          const auto value = static_cast<std::int64_t>(value_of_sixteen(_mm_shuffle_epi8(joined, order)));
          magnitude = static_cast<double>(value) / kPowersOfTen[decimals];  // both exact
        } else {
          const auto rest = static_cast<int>(count - 16);
          const std::uint64_t value =
              value_of_sixteen(joined) * kSmallPowers[rest] + value_of_first(load_digits(first + 17), rest);
          if (value == 0 || decimals == 0) return {k, p};
          magnitude = shortened(value, static_cast<int>(decimals));
        }
      }
      columns[k][row] = with_sign(magnitude, negative);
      p = stop + 1;
    }
  }
  // What is left of the text is short: no words are read there.
  const PlainCells last = read_baseline(p, end, delimiter, columns.subspan(k), row);
  return {k + last.count, last.next};
}

#endif

}  // namespace

PlainCells read_plain_cells(const char* begin, const char* end, char delimiter,
                            std::span<double* const> columns, std::size_t row) {
#if defined(__x86_64__)
  static const bool kHasBitCounts = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
  if (kHasBitCounts && linalg::cpu_level() >= linalg::CpuLevel::kAvx2)
    return read_avx2(begin, end, delimiter, columns, row);
#endif
  return read_baseline(begin, end, delimiter, columns, row);
}

}  // namespace parley::data
