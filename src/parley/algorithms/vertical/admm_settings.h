// Settings of ADMM sharing; the letters are those of admm_sharing.h.
#pragma once

#include <optional>

#include "parley/core/toml.h"
#include "parley/privacy/label_noise.h"

namespace parley::algorithms {

struct AdmmSettings {
  enum class Update { kAveraged, kPaper };
  enum class Order { kParallel, kGaussSeidel };
  enum class Rho { kFixed, kBalanced };
  enum class StopBy { kResiduals, kLyapunov };
  enum class Sums { kOpen, kMasked };

  int rounds = 1000;  // of gauss-seidel: sweeps over all parties
  Update update = Update::kAveraged;
  Order order = Order::kParallel;
  double rho = 0;  // 0: by the rule of default_rho() (admm_step.h); of a balanced one, the first
  Rho rho_rule = Rho::kFixed;
  double tolerance = 1e-10;          // of the residuals, relative to the margins, or of V; 0: all rounds
  StopBy stop = StopBy::kResiduals;  // with kLyapunov V is computed, at the price of a second vector down
  double value_bound = 0;            // V, private runs; 0: 5, or the labels' bound
  Sums sums = Sums::kOpen;           // private runs: whether the coordinator sees a party's values or their sum only
  bool public_labels = false;        // what is sent in their place is public; a private run needs it
  bool release_parts = false;        // of a private run: it ends with weights that are released, once, with noise
  std::optional<privacy::LabelNoise> label_noise{};  // labels leave with it

  static AdmmSettings read(Toml& settings);  // its keys of [algorithm]
};

}  // namespace parley::algorithms
