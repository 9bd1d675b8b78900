// How many private greedy steps to take and how much noise each gets, from public numbers alone.
//
// A step selects a coordinate (exponential mechanism of cost e on scores of sensitivity D_u) and releases its partial
// derivative (Gaussian or Laplace noise). With rho the run's zCDP budget and s the selection's share of it, the cost of
// a selection and the noise, in the score's unit, are
//
//   e                             = sqrt(8 rho s / T)
//   on the best of d scores about   (2 D_u / e) ln d = D_u ln d sqrt(T / (2 rho s))
//   on the value                    D_u sqrt(T / (2 rho (1 - s)))
//
// Share: the sum of the two squares is least at s = ln d / (1 + ln d).
// Steps: as many as keep the noise on the best of d scores below a share of the largest possible one (private_steps.h),
// and no more than two per coordinate.
//
// "paper" (Mangold et al. 2023, Theorem 4.2): Laplace noise of scale D/e' on every score and on the value, with e' the
// largest for which advanced composition of 2T steps of cost e' stays within the target. The selection costs 2e' in
// truth, so the run costs more than the target; the ledger states how much.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "parley/algorithms/parts/private_terms.h"
#include "parley/core/result.h"

namespace parley::algorithms {

struct GreedyNoise {
  double selection_epsilon = 0;  // what one selection costs
  bool noisy_max = false;        // report-noisy-max in place of the exponential mechanism
  bool laplace = false;          // the kind of noise on the value
  double value_noise = 0;        // its deviation, or scale, in contributions
  std::vector<privacy::Event> step;
};

struct GreedyShape {
  std::int64_t steps = 1;
  std::size_t coordinates = 1;
  double value_sensitivity = 2;        // in contributions, as ExactSums states it
  std::optional<double> share;         // of the selection; by the rule above when absent
  std::vector<privacy::Event> once{};  // what the run releases before the steps, with its noise fixed already
};

std::int64_t greedy_steps(const privacy::Target& target, double records, std::size_t coordinates);
double selection_share(std::size_t coordinates);
Result<GreedyNoise> greedy_noise(const PrivateTerms& terms, const GreedyShape& shape);

}  // namespace parley::algorithms
