// How much noise a run of T equal steps may use, each "select an index, then release a value". It is told as the very
// events that the run's gate will draw, so that what is reserved (gate.h) costs at most the target, roundings included.
//
// The selection gets `share` of each step's zCDP cost, the value the rest; both are then scaled together to the largest
// that the best accountant proves for the whole plan.
#pragma once
#include <cstdint>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/accounting/calibration.h"
#include "parley/privacy/accounting/event.h"

namespace parley::privacy {

struct StepShape {
  std::int64_t steps = 1;
  double share = 0.5;            // 0 = only values, 1 = only selections
  double value_sensitivity = 0;  // in grains, as Sensitive states it (a whole number for one value)
  std::vector<Event> once{};     // what else the run releases, with its noise fixed already
};

struct StepNoise {
  double selection_epsilon = 0;  // of each exponential mechanism; 0 when nothing is selected
  double value_sigma = 0;        // standard deviation in grains; 0 when no value is released
  std::vector<Event> step;       // for Gate::reserve
  double epsilon = 0;            // what all steps cost together at the target's delta
};

// With Gaussian noise on the values.
Result<StepNoise> step_noise(const Target& target, const StepShape& shape);

}  // namespace parley::privacy
