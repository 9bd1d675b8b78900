#include "parley/data/number.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace parley::data::detail {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t power_of_ten(int exponent) {
  std::uint64_t power = 1;
  for (int k = 0; k < exponent; ++k) power *= 10;
  return power;
}

struct IntegerPowers {
  std::uint64_t of[20] = {};
  constexpr IntegerPowers() {
    for (int k = 0; k < 20; ++k) of[k] = power_of_ten(k);
  }
};
constexpr IntegerPowers kIntegerPowers;

// 2^exponent for exponents far from the ends of the range.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

}  // namespace

double scaled_integer(std::uint64_t digits, int exponent) {
  if (exponent >= 0) {
    const Wide product = static_cast<Wide>(digits) * kIntegerPowers.of[exponent];
    const auto high = static_cast<std::uint64_t>(product >> 64);
    if (high == 0) return static_cast<double>(static_cast<std::uint64_t>(product));
    // 64 leading bits with a sticky last one round as the whole product would: 53 are kept.
    const int shift = 64 - std::countl_zero(high);
    auto leading = static_cast<std::uint64_t>(product >> shift);
    if ((product & ((static_cast<Wide>(1) << shift) - 1)) != 0) leading |= 1;
    return static_cast<double>(leading) * power_of_two(shift);
  }
  // digits / 10^k = quotient * 2^(divisor_shift - digits_shift - 63), quotient in (2^62, 2^64).
  const std::uint64_t power = kIntegerPowers.of[-exponent];
  const int digits_shift = std::countl_zero(digits);
  const int divisor_shift = std::countl_zero(power);
  const Wide numerator = static_cast<Wide>(digits << digits_shift) << 63;
  const std::uint64_t divisor = power << divisor_shift;
  auto quotient = static_cast<std::uint64_t>(numerator / divisor);
  if (static_cast<Wide>(quotient) * divisor != numerator) quotient |= 1;
  return static_cast<double>(quotient) * power_of_two(divisor_shift - digits_shift - 63);
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
