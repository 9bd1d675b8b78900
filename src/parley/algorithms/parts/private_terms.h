// The terms under which a private trainer runs. A trainer is one function: with `Problem::privacy` null it reads the
// data freely; otherwise everything that its iterates depend on leaves through the gate, and its settings (steps, step
// sizes, noise) come from the public numbers here and from d. The number of records among them is records(): n itself
// under replace-one, what the job states under add-remove, where n must show in the released sums and nowhere else.
//
// How a private trainer runs:
//   1. sums (privacy/sensitivity/exact_sums.h) on `features` enforce the bound of every score and value;
//   2. noise is calibrated to `target` for all steps (privacy/accounting/step_noise.h), or by the paper's formula;
//   3. gate->reserve(...) charges the whole plan before the first draw and says how many steps the budget holds;
//      fewer than asked for: the run does those and stops with Stop::kBudgetEnded;
//   4. gate->select, gate->gaussian, ... draw against the plan.
#pragma once
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "parley/privacy/accounting/calibration.h"
#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/grid_features.h"
#include "parley/privacy/units.h"

namespace parley::algorithms {

struct PrivateTerms {
  privacy::Target target;  // of the whole run
  privacy::Unit unit = privacy::Unit::kRecord;
  privacy::Calibration calibration = privacy::Calibration::kProved;
  privacy::Smoothness smoothness = privacy::Smoothness::kBounds;
  double derivative_bound = 1;         // R: every record's derivative of the loss is clipped to [-R, R]
  double row_bound = 1;                // ||x_i||_2 of the features as the trainer sees them
  double label_bound = 1;              // |y_i|
  double label_middle = 0;             // of a real label's bounds
  std::vector<std::size_t> numbers{};  // columns that the schema calls numbers; none where it names none
  bool finds_row_norm = false;         // row_bound is far above most rows, and a private look is worth its cost
  const privacy::GridFeatures* features = nullptr;  // Problem::features is its matrix; it knows the columns' bounds
  privacy::Gate* gate = nullptr;

  // |y_i - label_middle|
  [[nodiscard]] double label_reach() const { return label_bound - std::abs(label_middle); }
  [[nodiscard]] double records() const { return features->records(); }
};

}  // namespace parley::algorithms
