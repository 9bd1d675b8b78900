// One step's law on the grid, read in either direction and tilted: weights e^(tilt l) times the mass, made to sum to 1.
// Tilting brings the part of the law that decides delta to where doubles are most exact.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "parley/privacy/accounting/numerics.h"
#include "parley/privacy/accounting/step_loss.h"

namespace parley::privacy::accounting {

// The weights sum to 1.
struct TiltedGrid {
  std::int64_t first = 0;
  std::vector<double> weight;
  double log_moment = 0;
  double mean_index = 0;
  double infinite = 0;
  double largest_exponent = 0;
  double farthest = 0;  // the largest |index|
  double lost = 0;      // a bound of the tilted mass that underflowed

  // A bound of the relative error of one step's mass, as an exponent.
  [[nodiscard]] double rounding() const {
    constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
    return kUnit * (16 + 4 * largest_exponent + std::fabs(log_moment));
  }
};

struct Directed {
  const LossGrid* grid;
  int direction;

  [[nodiscard]] std::size_t size() const { return grid->log_s.size(); }
  // In direction -1 the grid is read backwards: losses change sign, P and Q change places.
  [[nodiscard]] std::int64_t first() const {
    return direction > 0 ? grid->first : -(grid->first + static_cast<std::int64_t>(size()) - 1);
  }
  [[nodiscard]] double log_s(std::size_t j) const { return grid->log_s[direction > 0 ? j : size() - 1 - j]; }
  [[nodiscard]] double lowest() const { return direction > 0 ? grid->forward_lowest : grid->backward_lowest; }
  [[nodiscard]] double infinite() const { return direction > 0 ? grid->forward_infinite : grid->backward_infinite; }

  // ln(mass e^(tilt l)) of the j-th point.
  [[nodiscard]] double log_weight(std::size_t j, double tilt) const {
    const double loss = static_cast<double>(first() + static_cast<std::int64_t>(j)) * grid->step;
    double value = log_s(j) + (tilt + 0.5) * loss;
    if (j == 0 && lowest() > 0) value = log_add(value, std::log(lowest()) + tilt * loss);
    return value;
  }
};

TiltedGrid tilted(const LossGrid& grid, int direction, double tilt);

}  // namespace parley::privacy::accounting
