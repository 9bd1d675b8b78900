// Settings of Frank-Wolfe, private and not; the letters are those of frank_wolfe.h.
#pragma once
#include <cstddef>
#include <optional>

#include "parley/core/toml.h"

namespace parley::algorithms {

enum class FrankWolfeStep { kOpenLoop, kShort, kLineSearch };

// Least squares can keep X'(Xw) by cached Gram columns instead of margins: the same iterates up to rounding,
// at a cost per step that does not depend on the number of rows. Automatic takes the cheaper one.
enum class FrankWolfeMode { kAutomatic, kPlain, kGram };

struct FrankWolfeSettings {
  std::optional<int> iterations;       // 1000; private: from n, d and the target
  std::optional<FrankWolfeStep> step;  // line search; private: open loop, and nothing else
  double gap_tolerance = 1e-6;         // absolute, of the objective; 0: stop only at an exact optimum
  FrankWolfeMode mode = FrankWolfeMode::kAutomatic;
  std::size_t gram_cache_bytes = std::size_t{1} << 30;  // columns beyond it are computed each time they are chosen

  static FrankWolfeSettings read(Toml& settings);  // its keys of [algorithm]
};

}  // namespace parley::algorithms
