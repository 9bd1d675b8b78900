// `exact` without l1 terms: Newton's method in the form that the shape of the data makes cheapest.
#pragma once
#include "parley/algorithms/exact/exact_settings.h"
#include "parley/algorithms/parts/fit.h"
#include "parley/core/result.h"

namespace parley::algorithms {

// The problem must have passed `check`; its l1 is 0 and it has no l1_radius and no sparsity.
Result<Fit> exact_smooth(const Problem& problem, const ExactSettings& settings, const Observer& observer);

}  // namespace parley::algorithms
