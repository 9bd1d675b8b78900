// How many steps to take, of which size, on which share of the records: decided from public numbers, unless the
// settings say so.
//
// Not private. q = min(1, 256/n), 20 expected passes, h = 1/L with L = c X^2, the largest curvature of one record's
// loss: c the curvature of the loss in its margin, X the largest norm of a row. No clip, no momentum.
//
// Private. Let mu be the sensitivity over the deviation of one Gaussian release that costs the whole (epsilon, delta).
// T releases of batches of rate q cost the same with noise z C, z = sides q sqrt(T) / mu: exactly for q = 1, nearly
// while z >= 1, and `noise` is what the accountant proves. sides = 2 for replace-one, 1 for add-remove. A run that
// moves by tau = T h / (1 - beta) in all then carries a noise of at most
//
//   tau sides C / (mu n)  per weight,    X times that per margin,
//
// however many steps it takes: steps cost time, not privacy, and a whole batch has no less noise than a sample. What
// bounds a private run is tau:
//
//   C          = X min(R, |phi'| at W = 0)      nothing is cut at the start; later only the worst records
//   tau        = Y mu n / (sides C X)           the noise of a margin reaches Y: 1, or the labels' bound; less where
//                                               that noise could cost more than a share of what there is to win
//                                               (descent_length.h)
//   N          = tau L                          plain steps of size 1/L; momentum does their work in sqrt(10 N)
//   T          = N for N <= 10, else sqrt(10 N)
//   1 - beta   = T / N, at least 5 / T
//   h          = tau (1 - beta) / T <= 1/L
//   q          = 1 while n T <= 2e8; else what reads that many records, but at least 2 mu / sqrt(T), where z is above 1
//
// A setting that is given replaces its formula in those that follow.
#pragma once
#include <optional>

#include "parley/algorithms/sgd/sgd_settings.h"
#include "parley/core/result.h"
#include "parley/privacy/accounting/calibration.h"

namespace parley::algorithms {

// What a plan may depend on.
struct SgdShape {
  double records = 0;    // n; of a private run the public number (private_terms.h)
  double row_norm = 1;   // X: the public bound, or of the data when nothing is private
  double curvature = 1;  // c
  // Of a private run:
  std::optional<privacy::Target> target{};
  double derivative_bound = 1;  // min(R, |phi'| at W = 0), over the classes together
  double margin_scale = 1;      // Y
  double coordinates = 1;       // D
  double total_curvature = 0;   // of a record's loss in its margins
  double l1 = 0;
  double l2 = 0;
  double loss_of_nothing = 1;  // of W = 0
};

struct SgdPlan {
  int steps = 1;
  double rate = 1;
  double step = 1;
  double momentum = 0;
  double clip = 0;  // infinity: none
  SgdResult result = SgdResult::kTailAverage;
  double noise = 0;    // z, the deviation of a private run's noise over C; 0: none
  double records = 0;  // n, of which a batch is expected to hold rate n
};

Result<SgdPlan> sgd_plan(const SgdShape& shape, const SgdSettings& settings);

}  // namespace parley::algorithms
