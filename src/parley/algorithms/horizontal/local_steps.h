// What every horizontal algorithm lets a party do between two messages (Tong et al. 2022, Algorithms 1, 2 and A1):
//
//   for k = 1..K:   g = grad f_i(x; batch of b_t records, drawn uniformly)
//                   x <- x - step g,   and for some  x <- H_tau(x)
//
// f_i is the mean loss over the party's n_i records plus l2/2 ||x||^2. H_tau keeps the tau entries of largest
// magnitude of each class. The batch grows with the round, b_t = b / growth^t with growth <= 1 (their Theorems 1
// and 2 ask for a geometric growth); b = 0 or b_t >= n_i means all records.
//
// Which records are drawn follows from (seed, party, round, k) alone, so that a repeated run repeats every byte.
//
// With privacy the sum of gradients is noisy and paid for (private_local_steps.h); everything after it is the same.
//
// Parameters are one vector, class by class: the d weights, then the intercept where there is one.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "parley/algorithms/horizontal/local_settings.h"
#include "parley/algorithms/horizontal/row_share.h"
#include "parley/core/result.h"
#include "parley/core/toml.h"
#include "parley/glm/objective.h"
#include "parley/privacy/gate.h"

namespace parley::algorithms {

// How many parameters a model of d columns has, and how many columns a model of so many parameters.
std::size_t parameter_count(const glm::Objective& objective, std::size_t columns);
std::size_t column_count(const glm::Objective& objective, std::size_t parameters);

struct WeightsAndIntercepts {
  std::vector<double> weights;     // d * K, class by class
  std::vector<double> intercepts;  // K, or none
};
WeightsAndIntercepts separate(const glm::Objective& objective, std::span<const double> parameters);

// H_tau of every class. A penalised intercept competes like a weight; a free one is kept beside them.
void keep_largest(const glm::Objective& objective, std::span<double> parameters);

// The records of step k of a round, ascending.
std::vector<std::size_t> draw_batch(const LocalSettings& settings, const RowShare& share, std::int64_t round, int k);

// n_i as the other parties may know it: the party's weight in an average.
std::int64_t public_records(const RowShare& share);

enum class AfterStep { kNothing, kThreshold };

// The step of the settings, or 1/(c X^2 + l2): c the curvature of the loss, X the largest norm of a row of any party.
double step_size(const glm::Objective& objective, const LocalSettings& settings, double row_norm);

struct LocalWork {
  std::int64_t round = 0;
  double step = 0;
  AfterStep after = AfterStep::kNothing;
  std::vector<double> parameters;  // where the steps start
};

class PrivateLocalSteps;  // private_local_steps.h

// The parameters after K steps that read the records freely: they stay with the party.
privacy::Private<std::vector<double>> open_local_steps(const glm::Objective& objective, const LocalSettings& settings,
                                                       const LocalWork& work, const RowShare& share);

// The parameters after K steps. `paid`: what a private run reserved in its first round.
Result<privacy::Released<std::vector<double>>> local_steps(const glm::Objective& objective,
                                                           const LocalSettings& settings, const LocalWork& work,
                                                           const RowShare& share, PrivateLocalSteps* paid,
                                                           privacy::Gate& gate);

}  // namespace parley::algorithms
