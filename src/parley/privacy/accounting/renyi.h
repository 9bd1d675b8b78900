// The Renyi divergence of one step, at any real order a > 1: the largest over neighbours, in the worse
// of the two directions.
//
//   Gaussian, mu = Delta/sigma   a mu^2/2                                              Mironov 2017
//   discrete Gaussian            a Delta^2/(2 sigma^2), in any dimension               Canonne, Kamath, Steinke 2020
//   Laplace, e = Delta/b         ln(a/(2a-1) e^((a-1)e) + (a-1)/(2a-1) e^(-ae)) / (a-1)
//   any e-DP step                ln(p e^((a-1)e) + (1-p) e^(-(a-1)e)) / (a-1), p = e^e/(1+e^e)
//   exponential mechanism        the exact supremum over e-bounded-range pairs (renyi.cpp)
//   sampled Gaussian             sampled_gaussian.h
#pragma once
#include "parley/privacy/accounting/event.h"

namespace parley::privacy::accounting {

// Infinity when the mechanism has no finite bound at this order. For ApproxDp it is the divergence of what remains
// after the caller has set its delta aside.
double renyi(const Mechanism& mechanism, Neighbours neighbours, double order);

double renyi_laplace(double epsilon, double order);
double renyi_pure(double epsilon, double order);
double renyi_bounded_range(double epsilon, double order);

// rho with D_a <= a rho for every a > 1; infinity when there is none.
//   Laplace                  e + exp(-e) - 1, tight       Harrison, Manurangsi 2025
//   any e-DP step            e tanh(e/2)
//   exponential mechanism    e^2/8                        Dong, Durfee, Rogers 2020
//   sampled Gaussian         that of a plain one, as if every record were always present: mixing cannot increase a
//                            Renyi divergence (joint quasi-convexity)
double zcdp(const Mechanism& mechanism, Neighbours neighbours);

// The smallest epsilon for which the step is epsilon-DP; infinity when it is not pure.
double pure_epsilon(const Mechanism& mechanism);

}  // namespace parley::privacy::accounting
