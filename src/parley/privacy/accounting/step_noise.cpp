#include "parley/privacy/accounting/step_noise.h"

#include <fmt/format.h>

#include <cmath>

#include "parley/privacy/accounting/conversion.h"

namespace parley::privacy {

Result<StepNoise> step_noise(const Target& target, const StepShape& shape) {
  if (shape.steps < 1 || shape.steps > kMaxCount)
    return fail(bad_input({.field = "steps"}, fmt::format("must be a whole number from 1 to {}", kMaxCount),
                          fmt::format("{}", shape.steps)));
  if (!(shape.share >= 0 && shape.share <= 1))
    return fail(bad_input({.field = "share"}, "must lie between 0 and 1", fmt::format("{}", shape.share)));
  if (shape.share < 1 && !(shape.value_sensitivity > 0 && std::isfinite(shape.value_sensitivity)))
    return fail(bad_input({.field = "value_sensitivity"}, "must be a finite number above 0",
                          fmt::format("{}", shape.value_sensitivity)));

  // scale^2 = rho of one step. Selection: rho = e^2 / 8. Value: 1 / (2 z^2), z = sigma / sensitivity.
  const auto noise_at = [&](double scale) {
    StepNoise noise;
    if (shape.share > 0) {
      noise.selection_epsilon = std::sqrt(8 * shape.share) * scale;
      noise.step.push_back({Exponential{noise.selection_epsilon}, 1});
    }
    if (shape.share < 1) {
      noise.value_sigma = shape.value_sensitivity / (std::sqrt(2 * (1 - shape.share)) * scale);
      noise.step.push_back({Gaussian{noise.value_sigma, shape.value_sensitivity}, 1});
    }
    return noise;
  };
  const auto plan_at = [&](double scale) {
    Plan plan{target.neighbours, shape.once};
    for (Event event : noise_at(scale).step) {
      event.count *= shape.steps;
      plan.events.push_back(event);
    }
    return plan;
  };
  const double rho = accounting::zcdp_within(target.epsilon.value(), target.delta.value());
  PARLEY_TRY(const double scale, largest_scale(plan_at, target, std::sqrt(rho / static_cast<double>(shape.steps))));
  StepNoise noise = noise_at(scale);
  PARLEY_TRY(noise.epsilon, epsilon_at(plan_at(scale), target.delta));
  return noise;
}

}  // namespace parley::privacy
