// The accountants inverted: how much noise a promise needs. Answers are on the safe side and are checked by the
// accountant before they are returned.
#pragma once
#include <cstdint>
#include <functional>

#include "parley/core/result.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/units.h"

namespace parley::privacy {

struct Target {
  Epsilon epsilon;
  Delta delta;
  Neighbours neighbours = Neighbours::kReplaceOne;
};

// sigma/sensitivity for `steps` Gaussian releases, in closed form (Balle, Wang 2018).
Result<double> gaussian_noise(const Target& target, std::int64_t steps);

// The noise multiplier (sigma over one record's largest contribution) for `steps` Poisson-sampled Gaussian releases.
Result<double> sampled_gaussian_noise(const Target& target, double sampling_rate, std::int64_t steps,
                                      Accountant accountant = Accountant::kBest);

// The epsilon of each of `steps` exponential mechanisms.
Result<double> selection_epsilon(const Target& target, std::int64_t steps, Accountant accountant = Accountant::kBest);

// T steps of "select an index, then release a value": the selection gets `share` of every step's zCDP cost rho, the
// value the rest. The noise of the value is Gaussian, rho (1-share) = 1/(2 z^2), or Laplace; kAuto takes whichever
// needs the smaller standard deviation.
enum class ValueNoise { kGaussian, kLaplace, kAuto };
struct SelectAndRelease {
  std::int64_t steps = 1;
  double share = 0.5;  // 0 = only values, 1 = only selections
  ValueNoise noise = ValueNoise::kAuto;
};
struct SelectAndReleaseNoise {
  double selection_epsilon = 0;  // of each exponential mechanism; 0 when nothing is selected
  double value_multiplier = 0;   // standard deviation (Gaussian) or scale b (Laplace) over the sensitivity
  ValueNoise noise = ValueNoise::kGaussian;
  Account account;  // what the plan costs, at the target's delta
  Plan plan;        // with sensitivity 1
};
Result<SelectAndReleaseNoise> select_and_release_noise(const Target& target, const SelectAndRelease& shape,
                                                       Accountant accountant = Accountant::kBest);

// The general form. `plan_at(scale)` must cost more as scale grows (scale = 1/noise, say): the largest scale whose plan
// stays within the target, to a relative 2e-3 and usually better, always on the safe side.
Result<double> largest_scale(const std::function<Plan(double)>& plan_at, const Target& target, double guess,
                             Accountant accountant = Accountant::kBest);
// The same for any nondecreasing delta(scale).
Result<double> largest_scale(const std::function<double(double)>& delta_at_scale, double delta, double guess);

}  // namespace parley::privacy
