// From Renyi divergences to (epsilon, delta). Canonne, Kamath, Steinke 2020, Proposition 12 and Corollary 13: a
// mechanism with D_a <= r for one order a > 1 is (epsilon, delta)-DP whenever
//
//   epsilon >= r + ln(1 - 1/a) - ln(delta a)/(a - 1),      or
//   delta   >= exp((a-1) (r - epsilon + ln(1 - 1/a))) / a
//
// Every order gives a valid bound; the functions below take the smallest over all orders that they try.
#pragma once
#include <functional>

namespace parley::privacy::accounting {

double epsilon_from_renyi(double order, double divergence, double delta);
double delta_from_renyi(double order, double divergence, double epsilon);

// The divergence of a whole plan at one order; infinity where it is not finite.
using RenyiCurve = std::function<double(double order)>;

struct Converted {
  double value;
  double order;  // the order that attained it
};

// Orders: a - 1 log-spaced from 1e-3 to 1e5 with 40 per decade, then a refinement around the best one.
Converted epsilon_from_curve(const RenyiCurve& curve, double delta);
Converted delta_from_curve(const RenyiCurve& curve, double epsilon);

// rho-zCDP is the curve a -> a rho; its orders are searched over all scales.
double epsilon_from_zcdp(double rho, double delta);
double delta_from_zcdp(double rho, double epsilon);
// The largest rho whose conversion stays within (epsilon, delta), rounded down.
double zcdp_within(double epsilon, double delta);

}  // namespace parley::privacy::accounting
