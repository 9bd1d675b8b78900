// exp and log1p on the ranges that losses need, branch-free so that loops over arrays vectorise.
//
// No fused operations and no reassociation: the same bits on every instruction set. Relative error is below
// 4e-16 (tests compare with long double).
#pragma once
#include <bit>
#include <cstdint>

#define PARLEY_ALWAYS_INLINE inline __attribute__((always_inline))

namespace parley::glm {

// yes ? a : b on the bits: the compiler cannot turn it into two copies of what follows.
PARLEY_ALWAYS_INLINE double select(bool yes, double a, double b) {
  const auto mask = -static_cast<std::uint64_t>(yes);
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(a) & mask) | (std::bit_cast<std::uint64_t>(b) & ~mask));
}

// A polynomial at x, its highest coefficient first.
template <class... Coefficients>
PARLEY_ALWAYS_INLINE double horner(double x, double highest, Coefficients... others) {
  double p = highest;
  ((p = p * x + others), ...);
  return p;
}

// e^x for x <= 0; results below 1e-307 become 0.
//   x = n log 2 + r with |r| <= log(2)/2;  e^x = 2^n e^r, e^r by its Taylor polynomial of degree 13.
PARLEY_ALWAYS_INLINE double exp_of_nonpositive(double x) {
  constexpr double kRound = 6755399441055744.0;       // 1.5 * 2^52: adding it leaves round(x) in the low bits
  constexpr double kLog2High = 0x1.62e42fefa0000p-1;  // log 2 in two parts: n * high is exact
  constexpr double kLog2Low = 0x1.cf79abc9e3b3ap-40;
  const double bounded = x > -708.0 ? x : -708.0;
  const double shifted = bounded * 0x1.71547652b82fep+0 + kRound;
  const double n = shifted - kRound;
  const double r = (bounded - n * kLog2High) - n * kLog2Low;
  double p = horner(r, 1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
                    1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5);
  p = (p * r) * r + r;
  const auto bits = (std::bit_cast<std::uint64_t>(shifted) << 52) + (std::uint64_t{1023} << 52);
  const double power = std::bit_cast<double>(bits);
  const double value = power + power * p;
  return select(x > -708.0, value, 0.0);
}

// log(1 + e) for 0 <= e <= 1.
//   Above sqrt(2) - 1: log 2 + log(1 + (e - 1)/2). Then log(1 + f) = 2 atanh(f / (2 + f)) by its series,
//   whose argument is at most 0.172 in size.
PARLEY_ALWAYS_INLINE double log1p_of_unit(double e) {
  const bool upper = e > 0x1.a827999fcef32p-2;
  const double f = select(upper, 0.5 * (e - 1.0), e);
  const double base = select(upper, 0x1.62e42fefa39efp-1, 0.0);
  const double s = f / (2.0 + f);
  const double q = s * s;
  const double p = horner(q, 2.0 / 21.0, 2.0 / 19.0, 2.0 / 17.0, 2.0 / 15.0, 2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0,
                          2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0);
  // 2 atanh(s) = 2s + s p q, and 2s = f - s f exactly in real numbers: keeps the leading term unrounded.
  return base + (f - s * (f - p * q));
}

// log x for finite x >= 1: x = 2^n (1 + e).
PARLEY_ALWAYS_INLINE double log_of_at_least_one(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
  const double mantissa = std::bit_cast<double>((bits & 0x000fffffffffffffU) | 0x3ff0000000000000U);
  return static_cast<double>(static_cast<std::int32_t>(exponent)) * 0x1.62e42fefa39efp-1 +
         log1p_of_unit(mantissa - 1.0);
}

}  // namespace parley::glm
