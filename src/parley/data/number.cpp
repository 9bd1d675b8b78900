#include "parley/data/number.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace parley::data::detail {

double lengthened(std::uint64_t digits, int zeros) {
  std::uint64_t power = 1;
  for (int k = 0; k < zeros; ++k) power *= 10;
  const Wide product = static_cast<Wide>(digits) * power;
  const auto high = static_cast<std::uint64_t>(product >> 64);
  if (high == 0) return static_cast<double>(static_cast<std::uint64_t>(product));
  // 64 leading bits with a sticky last one round as the whole product would: 53 are kept.
  const int shift = 64 - std::countl_zero(high);
  auto leading = static_cast<std::uint64_t>(product >> shift);
  if ((product & ((static_cast<Wide>(1) << shift) - 1)) != 0) leading |= 1;
  return static_cast<double>(leading) * power_of_two(shift);
}

ParsedNumber parse_number_bytewise(const char* const begin, const char* const end) {
  const char* p = begin;
  if (p == end) return {0, begin, NumberError::kNotANumber};
  ReadDigits read{.negative = *p == '-'};
  if (*p == '-' || *p == '+') ++p;
  const char* const first_digit = p;
  const auto take_digits = [&] {
    while (p != end && is_digit(*p)) read.digits = read.digits * 10 + static_cast<std::uint64_t>(*p++ - '0');
  };
  take_digits();
  read.count = p - first_digit;
  if (p != end && *p == '.') {
    const char* const fraction = ++p;
    take_digits();
    read.exponent = fraction - p;
    read.count -= read.exponent;
  }
  if (read.count == 0) return {0, begin, NumberError::kNotANumber};
  return with_exponent(read, p, begin, end);
}

ParsedNumber with_exponent(const ReadDigits& read, const char* p, const char* const begin, const char* const end) {
  const auto [negative, digits, count, decimal_exponent] = read;
  std::ptrdiff_t exponent = decimal_exponent;
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
  if (count > 19) return parse_number_slowly(begin, p);
  double value = 0;
  if (digits <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
    value = static_cast<double>(digits);
    value = exponent < 0 ? value / kPowersOfTen[-exponent] : value * kPowersOfTen[exponent];
  } else if (digits != 0 && exponent >= -kMostDecimals && exponent <= 19) {
    value =
        exponent < 0 ? shortened(digits, static_cast<int>(-exponent)) : lengthened(digits, static_cast<int>(exponent));
  } else if (digits != 0) {
    return parse_number_slowly(begin, p);
  }
  return {with_sign(value, sign_bit(negative)), p, NumberError::kNone};
}

ParsedNumber parse_number_slowly(const char* begin, const char* end) {
  const bool negative = *begin == '-';
  const char* const unsigned_begin = begin + (*begin == '-' || *begin == '+' ? 1 : 0);
  double value = 0;
  const auto [stop, error] = std::from_chars(unsigned_begin, end, value);
  if (error == std::errc::result_out_of_range) {
    // Too large or too small: the decimal exponent of the first nonzero digit tells which.
    long leading = 0;
    bool after_point = false;
    bool found = false;
    long exponent = 0;
    for (const char* p = unsigned_begin; p != end; ++p) {
      if (*p == '.') {
        after_point = true;
      } else if (*p == 'e' || *p == 'E') {
        ++p;
        const bool below = *p == '-';
        if (*p == '-' || *p == '+') ++p;
        for (; p != end; ++p)
          if (exponent < 1000000) exponent = exponent * 10 + (*p - '0');
        if (below) exponent = -exponent;
        break;
      } else {
        found = found || *p != '0';
        if (found && !after_point) ++leading;
        if (!found && after_point) --leading;
      }
    }
    if (leading + exponent > 0) return {0, end, NumberError::kNotFinite};
    value = 0;
  } else if (error != std::errc() || !std::isfinite(value)) {
    return {0, begin, NumberError::kNotANumber};
  }
  return {negative ? -value : value, end, NumberError::kNone};
}

}  // namespace parley::data::detail
