// What private trainers with selections have in common: their sums, and how many steps public numbers suggest.
//
// With rho the run's zCDP budget, s the selections' share of it and T steps, a selection may cost e = sqrt(8 rho
// s / T). The exponential mechanism then ranks m candidates of sensitivity D with noise of about (2 D / e) ln m on the
// best of them. No score exceeds n D / 2, so the noise stays below `signal` of the largest possible score while
//   T <= 2 rho s (signal n / (2 ln m))^2.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "parley/algorithms/parts/fit.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/core/result.h"
#include "parley/privacy/sensitivity/exact_sums.h"

namespace parley::algorithms {

inline double log_candidates(std::size_t candidates) {
  return std::max(1.0, std::log(static_cast<double>(candidates)));
}

struct StepRule {
  double share = 1;  // s
  double signal = 0.1;
  double most = 1000;  // steps
};

// At least 1.
inline std::int64_t steps_within_signal(const privacy::Target& target, double records, std::size_t candidates,
                                        const StepRule& rule) {
  const auto one_value = privacy::gaussian_noise(target, 1);
  if (!one_value) return 1;
  const double rho = 0.5 / (*one_value * *one_value);
  const double reach = rule.signal * records / (2 * log_candidates(candidates));
  return static_cast<std::int64_t>(std::clamp(std::floor(2 * rho * rule.share * reach * reach), 1.0, rule.most));
}

inline Result<privacy::ExactSums> exact_sums_of(const Problem& problem) {
  const PrivateTerms& terms = *problem.privacy;
  return privacy::ExactSums::make(*terms.features,
                                  {.derivative_bound = terms.derivative_bound,
                                   .classes = problem.objective.classes,
                                   .constant = problem.objective.intercept == glm::Intercept::kPenalised,
                                   .neighbours = terms.target.neighbours,
                                   .unit = terms.unit});
}

}  // namespace parley::algorithms
