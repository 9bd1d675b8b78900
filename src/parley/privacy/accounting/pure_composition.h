// Optimal composition of pure steps. Kairouz, Oh, Viswanath 2015, Theorem 3.3, for every real epsilon: k steps that are
// e-DP (or (e, d)-DP) compose, adaptively, to exactly
//
//   delta(epsilon) = 1 - (1-d)^k (1 - D)
//   D = sum_l C(k,l) p^l (1-p)^(k-l) (1 - e^(epsilon - (2l-k)e))_+,       p = e^e/(1+e^e)
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace parley::privacy::accounting {

// D above, rounded up.
double optimal_pure_delta(double step_epsilon, std::int64_t count, double epsilon);
// The smallest epsilon with optimal_pure_delta <= delta, rounded up; at most count * step_epsilon.
double optimal_pure_epsilon(double step_epsilon, std::int64_t count, double delta);

// The same for steps of several epsilons, where the outcomes are few enough to be looked at one by one: k_i steps of
// e_i have (k_1 + 1)(k_2 + 1)... sums of losses. It is exact up to rounding, which is upwards.
class MixedPure {
 public:
  struct Steps {
    double epsilon;
    std::int64_t count;
  };
  static bool few(std::span<const Steps> steps);  // enough
  explicit MixedPure(std::span<const Steps> steps);
  [[nodiscard]] double delta(double epsilon) const;
  [[nodiscard]] double epsilon(double delta) const;

 private:
  struct Outcome {
    long double loss, p;
  };
  std::vector<Outcome> outcomes_;  // largest loss first
};

}  // namespace parley::privacy::accounting
