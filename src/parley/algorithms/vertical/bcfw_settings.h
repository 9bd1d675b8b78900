// Settings of block-coordinate Frank-Wolfe; the letters are those of bcfw.h.
#pragma once
#include <optional>
#include <vector>

#include "parley/algorithms/vertical/block_sampling.h"
#include "parley/core/toml.h"
#include "parley/linalg/sketch.h"

namespace parley::algorithms {

struct BcfwSettings {
  enum class Blocks { kParties, kCoordinates, kGroups };
  enum class Ball { kPerParty, kGlobal };
  enum class Radius { kShare, kPaper };
  enum class Step { kUniversal, kLineSearch };
  enum class Smallest { kDefined, kPaper };
  enum class Own { kExact, kShared };        // how a private party sees the margins of its own columns
  enum class Sharing { kAtNeed, kAtStart };  // when columns are sent

  std::optional<int> iterations;  // absent: 200, or by a public rule where the run is private (private_selection.h)
  SamplingSettings sampling;
  Blocks blocks = Blocks::kParties;
  std::vector<int> groups;  // of so many consecutive columns, of kGroups
  Ball ball = Ball::kPerParty;
  Radius radius = Radius::kShare;
  std::vector<double> radii;  // of each ball, or of each column of a box; empty: as the job's model says
  Step step = Step::kUniversal;
  Smallest p_min = Smallest::kDefined;
  double p = 0;          // in the place of p_min; 0: as p_min says
  double tolerance = 0;  // ends the run when the gap is at most this; 0: never
  int sketch = 0;        // m; 0: columns are sent whole
  linalg::SketchKind kind = linalg::SketchKind::kGaussian;
  Sharing sharing = Sharing::kAtNeed;
  bool bounds = false;          // convergence theorems beside the run (convergence_judge.h)
  std::optional<bool> offset;   // a constant from the base rate; absent: where the run is private
  std::optional<double> share;  // of the budget that indices get; absent: by a public rule
  std::optional<Own> own;       // absent: exact, or shared where the calibration is the paper's

  static BcfwSettings read(Toml& settings);  // its keys of [algorithm]
};

// The distributed Frank-Wolfe method (Bellet et al. 2015): one ball, every column looked at, one column of all parties'
// a round.
struct DfwSettings : BcfwSettings {
  static DfwSettings read(Toml& settings);
};

// One shot: every column is sketched and sent before the first step (Heinze-Deml et al. 2018).
struct PrideSettings : BcfwSettings {
  static PrideSettings read(Toml& settings);
};

}  // namespace parley::algorithms
