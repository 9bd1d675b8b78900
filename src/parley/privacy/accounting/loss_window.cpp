#include "parley/privacy/accounting/loss_window.h"

#include <algorithm>
#include <cmath>

#include "parley/privacy/accounting/numerics.h"

namespace parley::privacy::accounting {

// From the top down, as the definitions say; each step multiplies by rounded numbers once, so that 2^21 of them are
// good to 1e-12.
LossWindow::LossWindow(const Place& place, const ComposedMasses& masses)
    : place_(place),
      size_(static_cast<std::int64_t>(masses.mass.size())),
      near_(place.points + 1, 0.0L),
      far_(place.points + 1, 0.0L) {
  std::int64_t slot = (place.first - place.origin) % size_;
  if (slot < 0) slot += size_;
  slot = (slot + static_cast<std::int64_t>(place.points)) % size_;
  const long double width = place.step, decay = std::exp(-place.tilt * width), kept_share = std::exp(-width),
                    gained = -std::expm1(-width);
  for (std::size_t j = place.points; j-- > 0;) {
    slot = slot == 0 ? size_ - 1 : slot - 1;
    const double mass = std::max(masses.mass[static_cast<std::size_t>(slot)], 0.0) + masses.error;
    near_[j] = mass + decay * near_[j + 1];
    far_[j] = decay * (gained * near_[j + 1] + kept_share * far_[j + 1]);
  }
}

double LossWindow::delta(double epsilon) const {
  if (!valid()) return 1;
  // What is asked for is moved by as much as atoms may be off.
  const long double asked = static_cast<long double>(epsilon) - place_.blur;
  const long double position = asked / place_.step - place_.first;
  const double beyond = std::min(1.0, (outside_.infinite + outside_.above) * (1 + kSlack));
  std::size_t n = 0;
  long double below = 0;
  if (position < 0) {
    below = outside_.below;
  } else if (position >= static_cast<long double>(near_.size() - 1)) {
    return beyond;
  } else {
    n = static_cast<std::size_t>(std::floor(position)) + 1;
    while (n > 0 && loss_at(n - 1) > asked) --n;  // the division rounds
  }
  if (n + 1 >= near_.size()) return beyond;
  const long double past = std::min(asked - loss_at(n), 0.0L);
  const long double inside = -std::expm1(past) * near_[n] + std::exp(past) * far_[n];
  const long double answer = std::exp(place_.log_scale - place_.tilt * loss_at(n)) * inside * (1 + 1e-11L) + below +
                             outside_.above + outside_.infinite;
  // Not a number, too: infinity times nothing is not nothing.
  return answer < 1 ? static_cast<double>(answer) * (1 + kSlack) : 1.0;
}

double LossWindow::slope(double epsilon) const {
  const double step = 2 * place_.step;
  const double here = delta(epsilon), there = delta(epsilon + step);
  return there > 0 && here > there ? std::log(here / there) / step : 0;
}

bool LossWindow::fine_enough(double steepness, double slope_found) const {
  if (place_.exact || size_ > kLargestRefined / 2) return true;
  return 1 + slope_found < 2 * steepness;
}

}  // namespace parley::privacy::accounting
