// Where to look before a composition is computed: tilt, window, grid, and an estimate of delta to start searches from.
// Nothing here enters an answer.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "parley/privacy/accounting/step_loss.h"

namespace parley::privacy::accounting {

// Cumulants of the tilted sum, from quadrature nodes.
class LossAim {
 public:
  struct Cumulants {
    double log_moment = 0, mean = 0, variance = 0;
  };
  // Tails that count as infinite losses are cut so that together they are at most 1e-6 of e^log_delta.
  LossAim(std::span<const CountedLoss> parts, int direction, double log_delta) : direction_(direction) {
    double steps = 0;
    for (const CountedLoss& part : parts) steps += static_cast<double>(part.count);
    const double infinite = std::max(std::exp(log_delta - 14 - std::log(steps)), 1e-270);
    // At the other end mass is only moved up a little, so it may be much more.
    const double lowest = std::max(infinite, 1e-10 / steps);
    cut_ = direction > 0 ? Cut{infinite, lowest} : Cut{lowest, infinite};
    for (const CountedLoss& part : parts) laws_.push_back({part.step->nodes(cut_), static_cast<double>(part.count)});
  }
  [[nodiscard]] const Cut& cut() const { return cut_; }
  [[nodiscard]] int direction() const { return direction_; }
  [[nodiscard]] Cumulants cumulants(double tilt) const;
  [[nodiscard]] double tilt_for_epsilon(double epsilon) const;
  [[nodiscard]] double tilt_for_delta(double delta) const;
  // A saddle-point estimate of ln delta(epsilon).
  [[nodiscard]] double estimate(double tilt, double epsilon) const;

 private:
  struct Law {
    LossNodes nodes;
    double count;
  };
  int direction_;
  Cut cut_;
  std::vector<Law> laws_;
};

}  // namespace parley::privacy::accounting
