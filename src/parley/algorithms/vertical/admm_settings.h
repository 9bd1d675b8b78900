// Settings of ADMM sharing; the letters are those of admm_sharing.h.
#pragma once

#include <optional>

#include "parley/core/toml.h"
#include "parley/privacy/label_noise.h"

namespace parley::algorithms {

struct AdmmSettings {
  int rounds = 1000;
  double rho = 0;              // 0: parties x the curvature of the loss, a tenth of the largest for classes
  double tolerance = 1e-10;    // of the residuals, relative to the margins; 0: all rounds
  double value_bound = 0;      // V, private runs; 0: 5, or the labels' bound
  bool public_labels = false;  // what is sent in their place is public; a private run needs it
  bool release_parts = false;  // of a private run: it ends with weights that are released, once, with noise
  std::optional<privacy::LabelNoise> label_noise{};  // labels leave with it

  static AdmmSettings read(Toml& settings);  // its keys of [algorithm]
};

}  // namespace parley::algorithms
