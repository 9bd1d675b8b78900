// Lower bounds on epsilon from what an attack got right, each with a stated chance of being too high.
//
// An attack tells two neighbouring worlds apart, `in` and `out`. Whatever it does, (epsilon, delta)-DP says
//   TPR <= e^epsilon FPR + delta   and   1 - FPR <= e^epsilon (1 - TPR) + delta.
//
//   clopper_pearson   upper bounds of FNR and FPR, each at half the significance, put into the first line
//                     (Clopper and Pearson 1934)
//   gaussian          the same two bounds give mu >= Phi^-1(1 - FPR) - Phi^-1(FNR), and mu the exact epsilon at delta
//                     (Dong, Roth, Su 2019). It speaks of mechanisms whose worst trade-off is that of two Gaussians,
//                     and of no others
//   one_run           m independent coins decide about m canaries in ONE run; k guesses, v of them right. The largest
//                     epsilon with f(v) + 2 m delta max_i (f(v - i) - f(v)) / i <= significance,
//                     f(v) = P[Bin(k, e^epsilon / (1 + e^epsilon)) >= v]
//                     (Steinke, Nasr, Jagielski 2023, Theorem 5.2)
//   one_run_gaussian  the same guesses against the trade-off of two Gaussians
//                     (Mahloujifar, Melis, Chaudhuri 2024, Algorithm 3)
#pragma once
#include <cstdint>

namespace parley::audits {

// The chance that a bound is above the true epsilon.
struct Significance {
  double value = 0.05;
};

// Runs of each world, and how often the attack said "in".
struct Counts {
  std::int64_t in = 0;
  std::int64_t true_positives = 0;
  std::int64_t out = 0;
  std::int64_t false_positives = 0;
};

// Guesses about canaries of one run; for the others the attack said nothing.
struct Guesses {
  std::int64_t canaries = 0;
  std::int64_t guessed = 0;
  std::int64_t right = 0;
};

// P[Bin(trials, p) <= successes] = significance, solved for p: the one-sided upper bound of a share.
double share_at_most(std::int64_t successes, std::int64_t trials, Significance significance);

double clopper_pearson_epsilon(const Counts& counts, double delta, Significance significance);
double gaussian_epsilon(const Counts& counts, double delta, Significance significance);
double one_run_epsilon(const Guesses& guesses, double delta, Significance significance);
double one_run_gaussian_epsilon(const Guesses& guesses, double delta, Significance significance);

// Phi and its inverse.
double normal_below(double x);
double normal_quantile(double p);
// The exact epsilon of a mu-Gaussian mechanism at delta, and mu from it.
double epsilon_of_mu(double mu, double delta);
double mu_of_epsilon(double epsilon, double delta);

}  // namespace parley::audits
