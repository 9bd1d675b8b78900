// Composition of privacy losses by FFT, always an upper bound.
//
// With L the sum of all losses, delta(epsilon) = E_P[(1 - e^(epsilon - L))_+] + P(L = infinity). The laws are put on
// one grid (step_loss.h), tilted by e^(t L) so that the tilted sum is centred at the epsilon in question
// (tilted_grid.h), multiplied in Fourier space (loss_spectrum.h) and tilted back (loss_window.h): the rounding of
// the transform is then relative to delta, not to 1, and a delta of 1e-12 after 10,000 steps keeps its digits. What
// makes the answer valid:
//   grid        connect-the-dots never lowers the profile; its cost in epsilon is about (1+t) k h^2/12,
//               which chooses h = sqrt(12 tolerance/k)/(1+t)
//   window      a circular convolution of nonnegative masses only adds what wraps around; mass above the window
//               is bounded by Chernoff with the grid's own moments and added to delta
//   rounding    the transform's error is bounded from the 2-norms of what was transformed (Higham 2002, Theorem 24.2)
//               and added to every grid mass
//   far tails   those of a step count as an infinite loss
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "parley/privacy/accounting/step_loss.h"

namespace parley::privacy::accounting {

class LossWindow;
struct ComposedMasses;

class LossComposition {
 public:
  // Steps that have no dominating pair make the whole composition unavailable.
  void add(std::unique_ptr<StepLoss> step, std::int64_t count);
  // The probability that a step reveals everything, for `count` steps: the delta of an (epsilon, delta)-DP step.
  void add_leak(double probability, std::int64_t count);

  // Upper bounds in the worse direction. `tolerance`: the relative excess of delta that the grid may cost.
  [[nodiscard]] double delta(double epsilon, double tolerance = kTolerance) const;
  [[nodiscard]] double epsilon(double delta, double tolerance = kTolerance) const;
  // A saddle-point estimate of ln delta(epsilon), usually within a few percent of delta. It is not a bound, but a start
  // for searches. `log_delta`: the value hoped for, which decides how much of the tails is looked at.
  [[nodiscard]] double estimated_log_delta(double epsilon, double log_delta) const;
  // One direction at a time, for tests: +1 is P against Q, -1 is Q against P. An answer below `enough` is only known
  // to be below it.
  [[nodiscard]] double delta_in(int direction, double epsilon, double tolerance = kTolerance, double enough = 0) const;

  static constexpr double kTolerance = 1e-3;
  static constexpr double kCoarse = 0.1;

 private:
  using Part = CountedLoss;
  struct Target;
  struct Reach;
  struct Grid;
  struct Laws;

  // The composed law near the target: where it lies, the grid that this asks for, the laws of the steps on the grid,
  // their sum (loss_spectrum.h) and the window that answers (loss_window.h). Not valid where doubles cannot hold it.
  [[nodiscard]] LossWindow compose(const Target& target) const;
  [[nodiscard]] std::optional<Reach> reach(const Target& target) const;
  [[nodiscard]] std::optional<Grid> choose_grid(const Target& target, const Reach& reach) const;
  [[nodiscard]] std::optional<Laws> laws_on(const Grid& grid, const Target& target) const;
  [[nodiscard]] static LossWindow place(const Target& target, const Reach& reach, const Grid& grid, const Laws& laws,
                                        const ComposedMasses& masses);
  [[nodiscard]] double epsilon_in(int direction, double delta, double tolerance) const;
  [[nodiscard]] double epsilon_by_bisection(int direction, double delta, double tolerance) const;
  [[nodiscard]] bool symmetric() const;

  std::vector<Part> parts_;
  bool available_ = true;
  double log_no_leak_ = 0;  // sum of count ln(1 - probability)
};

}  // namespace parley::privacy::accounting
