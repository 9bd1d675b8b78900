// Settings of stochastic gradient descent, private and not; the letters are those of sgd.h.
#pragma once
#include <cstdint>
#include <optional>

#include "parley/core/toml.h"

namespace parley::algorithms {

enum class SgdResult { kLast, kTailAverage };

struct SgdSettings {
  // Absent: chosen by sgd_plan.
  std::optional<int> steps;          // T
  std::optional<double> batch_rate;  // q in (0, 1]
  std::optional<double> step;        // h
  std::optional<double> momentum;    // beta in [0, 1)
  std::optional<double> clip;        // C, the l2 norm that one record's gradient may have
  std::optional<SgdResult> result;
  std::uint64_t seed = 0;  // of the sampling in a run that is not private

  static SgdSettings read(Toml& settings);  // its keys of [algorithm]
};

}  // namespace parley::algorithms
