#include "parley/algorithms/sgd/sgd_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "parley/algorithms/parts/check.h"
#include "parley/algorithms/parts/descent_length.h"

namespace parley::algorithms {

namespace {

constexpr double kBatch = 256;
constexpr double kPasses = 20;
constexpr double kMostSteps = 1e9;
constexpr double kPlainSteps = 10;    // up to so many, momentum would save nothing
constexpr double kMemories = 5;       // a run is at least so many times as long as momentum remembers
constexpr double kRecordsRead = 2e8;  // by a whole private run

Result<void> check(const SgdSettings& settings) {
  if (settings.steps)
    PARLEY_CHECK(require(*settings.steps >= 1, "algorithm.steps", "must be at least 1", *settings.steps));
  if (settings.batch_rate)
    PARLEY_CHECK(require(is_positive(*settings.batch_rate) && *settings.batch_rate <= 1, "algorithm.batch_rate",
                         "must be above 0 and at most 1", *settings.batch_rate));
  if (settings.step)
    PARLEY_CHECK(require(is_positive(*settings.step), "algorithm.step", "must be above 0", *settings.step));
  if (settings.momentum)
    PARLEY_CHECK(require(*settings.momentum >= 0 && *settings.momentum < 1, "algorithm.momentum",
                         "must be at least 0 and below 1", *settings.momentum));
  if (settings.clip)
    PARLEY_CHECK(require(is_positive(*settings.clip), "algorithm.clip", "must be above 0", *settings.clip));
  return {};
}

// L; a matrix of zeros has none, and its weights never move.
double largest_curvature(const SgdShape& shape) {
  const double curvature = shape.curvature * shape.row_norm * shape.row_norm;
  return curvature > 0 ? curvature : 1.0;
}

SgdPlan open_plan(const SgdShape& shape, const SgdSettings& settings) {
  SgdPlan plan;
  plan.result = settings.result.value_or(SgdResult::kTailAverage);
  plan.rate = settings.batch_rate.value_or(std::min(1.0, kBatch / shape.records));
  plan.steps = settings.steps.value_or(static_cast<int>(std::min(kMostSteps, std::ceil(kPasses / plan.rate))));
  plan.step = settings.step.value_or(1 / largest_curvature(shape));
  plan.momentum = settings.momentum.value_or(0.0);
  plan.clip = settings.clip.value_or(std::numeric_limits<double>::infinity());
  return plan;
}

Result<SgdPlan> private_plan(const SgdShape& shape, const SgdSettings& settings) {
  const privacy::Target& target = *shape.target;
  const double sides = target.neighbours == privacy::Neighbours::kReplaceOne ? 2 : 1;
  PARLEY_TRY(const double one_release, privacy::gaussian_noise(target, 1));
  const double mu = 1 / one_release;

  SgdPlan plan;
  plan.result = settings.result.value_or(SgdResult::kLast);
  plan.clip = settings.clip.value_or(shape.derivative_bound * shape.row_norm);
  const DescentNoise noise{.per_length = sides * plan.clip / (mu * shape.records),
                           .coordinates = shape.coordinates,
                           .row_norm = shape.row_norm,
                           .curvature = shape.total_curvature,
                           .l1 = shape.l1,
                           .l2 = shape.l2};
  const double tau = longest_descent(noise, shape.margin_scale / (noise.per_length * shape.row_norm),
                                     kNoiseShare * shape.loss_of_nothing);
  const double plain_steps = tau * largest_curvature(shape);
  double steps = plain_steps <= kPlainSteps ? plain_steps : std::sqrt(kPlainSteps * plain_steps);
  if (settings.momentum) steps = plain_steps * (1 - *settings.momentum);
  plan.steps = settings.steps.value_or(static_cast<int>(std::clamp(std::ceil(steps), 1.0, kMostSteps)));
  const double forgetting = std::min(1.0, std::max(plan.steps / plain_steps, kMemories / plan.steps));
  plan.momentum = settings.momentum.value_or(1 - forgetting);
  plan.step = settings.step.value_or(std::min(1 / largest_curvature(shape), tau * (1 - plan.momentum) / plan.steps));
  const double affordable = kRecordsRead / (shape.records * plan.steps);
  plan.rate = settings.batch_rate.value_or(std::min(1.0, std::max(affordable, 2 * mu / std::sqrt(plan.steps))));
  PARLEY_TRY(plan.noise, privacy::sampled_gaussian_noise(target, plan.rate, plan.steps));
  return plan;
}

}  // namespace

Result<SgdPlan> sgd_plan(const SgdShape& shape, const SgdSettings& settings) {
  PARLEY_CHECK(check(settings));
  PARLEY_TRY(SgdPlan plan, shape.target ? private_plan(shape, settings) : Result<SgdPlan>(open_plan(shape, settings)));
  plan.records = shape.records;
  return plan;
}

}  // namespace parley::algorithms
