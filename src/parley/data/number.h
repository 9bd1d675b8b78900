// Decimal text to the nearest double, the same bits as strtod in the C locale.
//
// Write the text as w * 10^e with an integer w of at most 19 digits. Three exact ways, tried in order:
//   w <= 2^53, |e| <= 22   w and 10^|e| are doubles, so one rounded product or quotient is the answer
//                          (Clinger: How to read floating point numbers accurately, 1990)
//   |e| <= 19              w * 10^e or w * 2^63 / 10^|e| in 128-bit integers, the remainder kept as a
//                          sticky bit, rounded once
//   otherwise              std::from_chars
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

namespace parley::data {

enum class NumberError { kNone, kNotANumber, kNotFinite };

struct ParsedNumber {
  double value;
  const char* end;  // after the number; the begin when there is none
  NumberError error;
};

// The longest number at `begin`: sign, digits, point, exponent. Words (nan, inf) and hexadecimal are
// refused, a value beyond the largest double is kNotFinite, one below the smallest is a signed zero.
ParsedNumber parse_number(const char* begin, const char* end);

namespace detail {

ParsedNumber parse_number_slowly(const char* begin, const char* end);
double scaled_integer(std::uint64_t digits, int exponent);  // digits * 10^exponent, |exponent| <= 19

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                          1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline constexpr std::uint64_t kSmallPowers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Eight characters, each with '0' taken off: how many of the first are digits? A byte above 9 gets its
// top bit from the sum or has it already; a carry can only reach bytes after such a one.
inline int leading_digits(std::uint64_t word) {
  const std::uint64_t others = ((word + 0x7676767676767676) | word) & 0x8080808080808080;
  return std::countr_zero(others) / 8;  // 8 when there are no others
}

// The value of eight digits, '0' taken off: they are joined to pairs, pairs to quadruples, quadruples to
// the number.
inline std::uint64_t value_of_eight(std::uint64_t word) {
  word = (word * 10 + (word >> 8)) & 0x00FF00FF00FF00FF;
  word = (word * 100 + (word >> 16)) & 0x0000FFFF0000FFFF;
  return (word * 10000 + (word >> 32)) & 0xFFFFFFFF;
}

}  // namespace detail

inline ParsedNumber parse_number(const char* const begin, const char* const end) {
  static_assert(std::endian::native == std::endian::little, "eight digits are read as a little-endian word");
  using detail::is_digit;
  const char* p = begin;
  if (p == end) return {0, begin, NumberError::kNotANumber};
  // Signs of data are a coin toss: no branch here.
  const bool negative = *p == '-';
  p += static_cast<int>(negative) | static_cast<int>(*p == '+');
  const char* const first_digit = p;
  std::uint64_t digits = 0;
  const auto take_digits = [&] {
    while (end - p >= 8) {
      std::uint64_t word;
      std::memcpy(&word, p, 8);
      word ^= 0x3030303030303030;
      const int found = detail::leading_digits(word);
      if (found == 0) return;
      // Moved to the end of the word behind zeros, fewer than eight digits are eight.
      digits = digits * detail::kSmallPowers[found] + detail::value_of_eight(word << (64 - 8 * found));
      p += found;
      if (found < 8) return;
    }
    while (p != end && is_digit(*p)) digits = digits * 10 + static_cast<std::uint64_t>(*p++ - '0');
  };
  while (p != end && is_digit(*p)) digits = digits * 10 + static_cast<std::uint64_t>(*p++ - '0');
  std::ptrdiff_t count = p - first_digit;
  std::ptrdiff_t exponent = 0;
  if (p != end && *p == '.') {
    const char* const fraction = ++p;
    take_digits();
    exponent = fraction - p;
    count -= exponent;
  }
  if (count == 0) return {0, begin, NumberError::kNotANumber};
  if (p != end && (*p == 'e' || *p == 'E')) {
    const char* q = p + 1;
    bool below = false;
    if (q != end && (*q == '-' || *q == '+')) below = *q++ == '-';
    if (q != end && is_digit(*q)) {
      int written = 0;
      while (q != end && is_digit(*q)) {
        if (written < 100000) written = written * 10 + (*q - '0');
        ++q;
      }
      exponent += below ? -written : written;
      p = q;
    }
  }
  // With more than 19 digits `digits` may have wrapped around; leading zeros are the slow way's business.
  if (count > 19) return detail::parse_number_slowly(begin, p);
  double value;
  if (digits <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
    value = static_cast<double>(digits);
    value = exponent < 0 ? value / detail::kPowersOfTen[-exponent] : value * detail::kPowersOfTen[exponent];
  } else if (digits == 0) {
    value = 0;
  } else if (exponent >= -19 && exponent <= 19) {
    value = detail::scaled_integer(digits, static_cast<int>(exponent));
  } else {
    return detail::parse_number_slowly(begin, p);
  }
  const auto sign = static_cast<std::uint64_t>(negative) << 63;
  return {std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) | sign), p, NumberError::kNone};
}

}  // namespace parley::data
