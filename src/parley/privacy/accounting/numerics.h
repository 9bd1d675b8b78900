// The few numerical tools the accountants share.
//
// Scalars that are differences of nearly equal numbers are computed in long double (64 significand bits here): every
// such formula below then keeps at least 1e-12 relative accuracy, and callers round the result by kSlack, which covers
// it, towards "more privacy was spent".
#pragma once
#include <cmath>
#include <limits>
#include <numbers>

namespace parley::privacy::accounting {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Every closed-form answer is widened by this, relatively, towards more privacy spent.
inline constexpr double kSlack = 1e-12;

// P(N(0,1) > x) with full relative accuracy in the far tail.
inline long double normal_tail(long double x) {
  return 0.5L * std::erfc(x / std::numbers::sqrt2_v<long double>);
}

// ln(e^a + e^b).
inline double log_add(double a, double b) {
  const double top = std::fmax(a, b);
  if (std::isinf(top)) return top;
  return top + std::log1p(std::exp(-std::fabs(a - b)));
}

struct Minimum {
  double at;
  double value;
};

// Golden-section search for a minimum of f on [low, high]. The value returned was attained, so for upper bounds of the
// form "infimum over orders" any answer is valid and a better one is only tighter.
template <class F>
Minimum golden_section(double low, double high, int steps, const F& f) {
  constexpr double kRatio = 0.6180339887498949;
  double a = low, b = high;
  double c = b - kRatio * (b - a), d = a + kRatio * (b - a);
  double fc = f(c), fd = f(d);
  for (int i = 0; i < steps; ++i) {
    if (fc <= fd) {
      b = d, d = c, fd = fc;
      c = b - kRatio * (b - a);
      fc = f(c);
    } else {
      a = c, c = d, fc = fd;
      d = a + kRatio * (b - a);
      fd = f(d);
    }
  }
  return fc <= fd ? Minimum{c, fc} : Minimum{d, fd};
}

// The smallest x in [low, high] for which `safe` holds, rounded up; safe must be monotone (false, then true). Returns
// high when no tested point below it is safe.
template <class Safe>
double smallest_safe(double low, double high, const Safe& safe) {
  for (int i = 0; i < 200; ++i) {
    const double middle = low + 0.5 * (high - low);
    if (middle <= low || middle >= high) break;
    (safe(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace parley::privacy::accounting
