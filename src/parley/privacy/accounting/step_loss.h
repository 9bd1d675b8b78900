// The privacy loss L = ln P/Q of one step's dominating pair (P, Q), X ~ P, in the two forms that composition needs.
//
// The pairs (adaptive composition of dominating pairs dominates the composition: Zhu, Dong, Wang 2022, Theorem 10):
//   Gaussian               L ~ N(mu^2/2, mu^2)
//   sampled Gaussian       sampled_gaussian.h
//   Laplace, e = Delta/b   atoms 1/2 at e and e^(-e)/2 at -e, density exp(-(e-l)/2)/4 between
//   exponential mechanism  density exp((e+l)/2)/(2(e^e-1)) on [-e, e]: dominates every e-bounded-range pair
//   any e-DP step          atoms e^e/(1+e^e) at e, 1/(1+e^e) at -e (randomised response)
//   discrete noise         Gaussian or Laplace, on one integer: its own atoms
//
// Connect-the-dots (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022): mass at a loss l between grid points i h and
// (i+1) h is split over the two so that both its P- and its Q-mass are kept. The privacy profile of the result is the
// piecewise linear interpolation (in e^epsilon) of the true one, hence never below it, and the same grid pair serves
// both directions. A mass m at l is stored as s = m e^(-l/2), the geometric mean of its P- and Q-mass. With
// d = l - i h the split is
//   s sinh((h-d)/2) / sinh(h/2)    at i h
//   s sinh(d/2) / sinh(h/2)        at (i+1) h
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "parley/privacy/accounting/event.h"

namespace parley::privacy::accounting {

// Quadrature of the law of L: sum_i exp(log_s_i + l_i/2) f(l_i) ~ E_P[f(L)]. It serves to aim (tilt, window,
// grid), never to answer.
struct LossNodes {
  std::vector<double> loss;
  std::vector<double> log_s;
};

// The law of L on the grid {i h}: log_s[j] belongs to loss (first + j) h.
struct LossGrid {
  double step = 0;
  std::int64_t first = 0;
  std::vector<double> log_s;
  // What the grid does not hold.
  double forward_infinite = 0;   // P against Q: P-mass that counts as an infinite loss,
  double forward_lowest = 0;     // and P-mass that is put on the lowest grid point
  double backward_infinite = 0;  // Q against P: the same for Q,
  double backward_lowest = 0;    // whose lowest loss is at the highest grid point
};

// How far the loss is followed: up to where at most `above` of the P-mass is left, and down to where at most `below`
// of the Q-mass is.
struct Cut {
  double above = 0, below = 0;
};

// One step, ready to be put on a grid.
class StepLoss {
 public:
  virtual ~StepLoss() = default;
  // Cutting the tails matters: the far tail of a sampled Gaussian has losses so large that its moments drown
  // everything that decides delta.
  [[nodiscard]] virtual LossNodes nodes(const Cut& cut) const = 0;
  [[nodiscard]] virtual LossGrid grid(double step, const Cut& cut) const = 0;
  // Length of the interval that grid() covers.
  [[nodiscard]] virtual double span(const Cut& cut) const = 0;
  // No loss is above this.
  [[nodiscard]] virtual double largest() const { return std::numeric_limits<double>::infinity(); }
  // The distance from 0 of atoms that should fall on grid points; 0 when there are none.
  [[nodiscard]] virtual double lattice() const { return 0; }
  // Whether nothing lies between them.
  [[nodiscard]] virtual bool only_lattice() const { return false; }
  // Whether some losses have positive probability. Their place on the grid rounds, and with it every sum of them.
  [[nodiscard]] virtual bool has_atoms() const { return false; }
  // Whether (P, Q) and (Q, P) have the same law of the loss.
  [[nodiscard]] virtual bool symmetric() const { return true; }
};

// The dominating pair, or nullptr for a mechanism known only through zCDP, and for losses beyond the range of a double.
// Gaussians (plain, and discrete ones charged as such) are given by mu to gaussian_loss().
std::unique_ptr<StepLoss> step_loss(const Mechanism& mechanism, Neighbours neighbours);
std::unique_ptr<StepLoss> gaussian_loss(double mu);

// A step's law and how often it is taken.
struct CountedLoss {
  std::shared_ptr<const StepLoss> step;
  std::int64_t count;
};

}  // namespace parley::privacy::accounting
