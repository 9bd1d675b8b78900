// The composed law in a window of its grid. Grid point n has loss l_n = (first + n) h and tilted mass m_n >= 0;
// its mass is e^(log_scale - tilt l_n) m_n. delta is a sum over the points above epsilon. It is kept relative to
// its first point n,
//
//   near[n] = sum_{i >= n} m_i e^(-tilt (l_i - l_n)),
//   far[n]  = sum_{i >= n} m_i e^(-tilt (l_i - l_n)) (1 - e^(-(l_i - l_n))),
//   delta   = e^(log_scale - tilt l_n) ((1 - g) near[n] + g far[n]),     g = e^(epsilon - l_n) in [e^-h, 1],
//
// where every term is nonnegative and every factor at most 1: nothing cancels, nothing overflows, and a term that
// underflows is less than 1e-4900 of the sum that it is missing from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "parley/privacy/accounting/loss_spectrum.h"

namespace parley::privacy::accounting {

class LossWindow {
 public:
  struct Place {
    double step = 0;  // h
    double tilt = 0;
    double blur = 0;  // atoms are on the grid up to this rounding of their place
    long double log_scale = 0;
    std::int64_t first = 0;  // grid point of the window's first
    std::size_t points = 0;
    std::int64_t origin = 0;  // grid point of the first of the composed masses, which are periodic
    bool exact = false;       // everything lies on this grid, so that no finer one helps
  };
  // Mass outside the window. Above it and infinite it counts as a loss above every epsilon; below it matters to an
  // epsilon below the window only.
  struct Outside {
    double above = 0, below = 0, infinite = 0;
  };

  // Of no law: valid() is false, and delta() is 1.
  LossWindow() = default;
  LossWindow(const Place& place, const ComposedMasses& masses);
  void set_outside(const Outside& outside) { outside_ = outside; }

  [[nodiscard]] bool valid() const { return !near_.empty(); }
  // Upper bound of delta(epsilon).
  [[nodiscard]] double delta(double epsilon) const;
  // -d ln(delta)/d epsilon. Where the law is far from normal it exceeds the tilt, and the grid must follow it.
  [[nodiscard]] double slope(double epsilon) const;
  // Whether the grid, chosen for this steepness (1 + slope), was fine enough for the slope that was found: it costs (1
  // + slope) k h^2/12, within a factor 2.
  [[nodiscard]] bool fine_enough(double steepness, double slope_found) const;
  [[nodiscard]] double low() const { return static_cast<double>(loss_at(0)); }
  [[nodiscard]] double high() const { return static_cast<double>(loss_at(near_.size() - 1)); }

 private:
  [[nodiscard]] long double loss_at(std::size_t n) const {
    return static_cast<long double>(place_.first + static_cast<std::int64_t>(n)) * place_.step;
  }

  Place place_;
  Outside outside_;
  std::int64_t size_ = 0;                // of the transform that made it
  std::vector<long double> near_, far_;  // one more than there are points; the last is 0
};

// Close to the largest possible loss ln(delta) falls without bound, and following its slope has to end somewhere.
inline constexpr std::int64_t kLargestRefined = std::int64_t{1} << 18;

}  // namespace parley::privacy::accounting
