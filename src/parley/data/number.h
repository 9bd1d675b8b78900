// Reads decimal text to the nearest double: the same bits as strtod in the C locale.
//
// Write the text as w * 10^e with an integer w of at most 19 digits. Three exact ways, tried in order:
//
//   w <= 2^53, |e| <= 22   w and 10^|e| are doubles, so one rounded product or quotient is the answer
//                          (Clinger: How to read floating point numbers accurately, 1990)
//   -27 <= e <= 19         w * 10^e or w * 2^62 / 5^|e| in 128-bit integers, the remainder kept as a
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
double lengthened(std::uint64_t digits, int zeros);  // digits * 10^zeros, zeros <= 19

__extension__ using Wide = unsigned __int128;

constexpr int kMostDecimals = 27;  // 5^27 < 2^63

// 5^k, shifted until its top bit is set, and 2^127 over it.
struct Divisor {
  std::uint64_t value = 0;
  std::uint64_t inverse = 0;
  int shift = 0;
};

struct Divisors {
  Divisor of[kMostDecimals + 1] = {};
  constexpr Divisors() {
    std::uint64_t power = 1;
    for (int k = 1; k <= kMostDecimals; ++k) {
      power *= 5;
      of[k].shift = std::countl_zero(power);
      of[k].value = power << of[k].shift;
      of[k].inverse = static_cast<std::uint64_t>((static_cast<Wide>(1) << 127) / of[k].value);
    }
  }
};
inline constexpr Divisors kDivisors;

// 2^exponent for exponents far from the ends of the range.
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// digits / 10^decimals, digits > 0, 1 <= decimals <= kMostDecimals.
//
// digits / 5^k = quotient * 2^(divisor.shift - digits_shift - 62), quotient in (2^61, 2^63): 53 bits are kept, and
// whether anything is left is a sticky last bit. With n the shifted digits, v the divisor and r = floor(2^127 / v) its
// inverse, n 2^62 / v - n r / 2^65 lies in [0, n / 2^65), so that n r / 2^65 rounded down is the quotient or one less,
// and the remainder tells which. 9 or 10 bits are not kept, and the middle between two doubles has zeros in the last 8:
// where none of [quotient, quotient + 2] has, all of it rounds to the same double, and nobody need ask.
inline double shortened(std::uint64_t digits, int decimals) {
  const Divisor& divisor = kDivisors.of[decimals];
  const int digits_shift = std::countl_zero(digits);
  const std::uint64_t shifted = digits << digits_shift;
  auto quotient = static_cast<std::uint64_t>((static_cast<Wide>(shifted) * divisor.inverse) >> 64) >> 1;
  if (((quotient + 2) & 0xFF) <= 2) [[unlikely]] {
    const Wide remainder = (static_cast<Wide>(shifted) << 62) - static_cast<Wide>(quotient) * divisor.value;
    quotient += static_cast<std::uint64_t>(remainder >= divisor.value);
    quotient |= static_cast<std::uint64_t>(remainder != 0) & static_cast<std::uint64_t>(remainder != divisor.value);
  }
  return static_cast<double>(static_cast<std::int64_t>(quotient)) *
         power_of_two(divisor.shift - digits_shift - 62 - decimals);
}

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                          1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline constexpr std::uint64_t kSmallPowers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

inline bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

// Eight characters, each with '0' taken off: the top bits of those that are not digits. A byte above 9 gets
// its top bit from the sum or has it already; a carry comes out of bytes above 0x89 only and can reach only
// those after them, so that the first of these bits is right always.
inline std::uint64_t other_characters(std::uint64_t word) {
  return ((word + 0x7676767676767676) | word) & 0x8080808080808080;
}

// How many of the first are digits; 8 when all are.
inline int leading_digits(std::uint64_t word) {
  return std::countr_zero(other_characters(word)) / 8;
}

// The value of eight digits, '0' taken off: they are joined to pairs, pairs to quadruples, quadruples to
// the number.
inline std::uint64_t value_of_eight(std::uint64_t word) {
  word = (word * 10 + (word >> 8)) & 0x00FF00FF00FF00FF;
  word = (word * 100 + (word >> 16)) & 0x0000FFFF0000FFFF;
  return (word * 10000 + (word >> 32)) & 0xFFFFFFFF;
}

inline std::uint64_t load_digits(const char* p) {
  static_assert(std::endian::native == std::endian::little, "eight digits are read as a little-endian word");
  std::uint64_t word;
  std::memcpy(&word, p, 8);
  return word ^ 0x3030303030303030;
}

// The value of the first `count` < 8 of eight digits: moved to the end of the word behind zeros, are eight.
inline std::uint64_t value_of_first(std::uint64_t word, int count) {
  return value_of_eight(word << 8 * (7 - count) << 8);
}

// Digits with a sign, `count` of them, that stand for digits * 10^exponent.
struct ReadDigits {
  bool negative = false;
  std::uint64_t digits = 0;
  std::ptrdiff_t count = 0;
  std::ptrdiff_t exponent = 0;
};

ParsedNumber parse_number_bytewise(const char* begin, const char* end);
// The number at `begin` whose digits were read up to `p`, where an exponent may follow.
ParsedNumber with_exponent(const ReadDigits& read, const char* p, const char* begin, const char* end);

// The sign is a top bit, not a flag: compilers put a flag into one byte of memory and fetch eight, for which the
// processor waits.
inline double with_sign(double magnitude, std::uint64_t top_bit) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | top_bit);
}

inline std::uint64_t sign_bit(bool negative) {
  return static_cast<std::uint64_t>(negative) << 63;
}

}  // namespace detail

inline ParsedNumber parse_number(const char* const begin, const char* const end) {
  using namespace detail;
  // A sign, seven digits, a point and three words of digits: from here on nothing looks beyond them.
  constexpr std::ptrdiff_t kReach = 40;
  if (end - begin < kReach) return parse_number_bytewise(begin, end);
  // Signs of data are a coin toss: no branch here.
  const bool negative = *begin == '-';
  const std::uint64_t sign = sign_bit(negative);
  const char* p = begin + (static_cast<int>(negative) | static_cast<int>(*begin == '+'));
  const std::uint64_t word = load_digits(p);
  const std::uint64_t others = other_characters(word);
  const int whole = std::countr_zero(others) / 8;
  constexpr char kPoint = '.' ^ '0';
  if (whole == 8 || static_cast<char>(word >> 8 * whole) != kPoint) {
    if (whole == 0 || whole == 8 || (p[whole] | 0x20) == 'e') [[unlikely]]
      return parse_number_bytewise(begin, end);
    return {with_sign(static_cast<double>(value_of_first(word, whole)), sign), p + whole, NumberError::kNone};
  }
  // A point does not cause a carry, so the next character that is not a digit shows correctly too.
  if (const std::uint64_t after = others & (others - 1); after != 0) {
    // All in one word: the digits behind the point close up to those before it.
    const int length = std::countr_zero(after) / 8;
    if (length == 1 || (p[length] | 0x20) == 'e') [[unlikely]]
      return parse_number_bytewise(begin, end);
    const std::uint64_t before = (std::uint64_t{1} << 8 * whole) - 1;
    const std::uint64_t digits = value_of_first((word & before) | (word >> 8 & ~before), length - 1);
    return {with_sign(static_cast<double>(digits) / kPowersOfTen[length - 1 - whole], sign), p + length,
            NumberError::kNone};
  }
  std::uint64_t digits = value_of_first(word, whole);
  const char* const fraction = p + whole + 1;
  p = fraction;
  std::uint64_t next = load_digits(p);
  int found = leading_digits(next);
  for (int words = 1; found == 8 && words < 3; ++words) {
    digits = digits * kSmallPowers[8] + value_of_eight(next);
    p += 8;
    next = load_digits(p);
    found = leading_digits(next);
  }
  if (found == 8) return parse_number_bytewise(begin, end);
  digits = digits * kSmallPowers[found] + value_of_first(next, found);
  p += found;
  // With more than 19 digits `digits` may have wrapped around.
  const auto decimals = static_cast<int>(p - fraction);
  if (whole + decimals > 19 || (*p | 0x20) == 'e') [[unlikely]]
    return with_exponent({negative, digits, whole + decimals, -decimals}, p, begin, end);
  const double magnitude = digits <= (std::uint64_t{1} << 53) ? static_cast<double>(digits) / kPowersOfTen[decimals]
                                                              : shortened(digits, decimals);
  return {with_sign(magnitude, sign), p, NumberError::kNone};
}

}  // namespace parley::data
