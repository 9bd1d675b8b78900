// How a value leaves through the gate: the mechanism that draws it, and how it is paid for.
//
//   gate.release(sum, Deviation{3.0})                             out of the plan that was reserved
//   gate.release(sum, Deviation{3.0}, Keyed{"mean income"})       charged by itself
//   gate.release(scores, ByNoisyMax{epsilon})
#pragma once
#include <concepts>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>

#include "parley/privacy/masking/one_time_mask.h"
#include "parley/privacy/units.h"

namespace parley::privacy {

// Noise on numbers, in the unit of the values. These are types, so that a deviation cannot be taken for a scale.
struct Deviation {  // N(0, sigma^2 I), rounded to the grain (rounded_gaussian.md)
  double sigma = 0;
};
struct LaplaceScale {  // discrete Laplace noise
  double scale = 0;
};
// The party's part of a sum over parties, which nobody learns but as the sum (masking/masked_sum.md): value + discrete
// Gaussian noise + mask. It costs what the noise of all parties but one costs.
struct Masked {
  NoiseShare noise;
  OneTimeMask mask;
};

// How an index is picked from scores. `epsilon` is what the pick costs.
struct ByExponential {  // the exponential mechanism; for scores of which few change between steps: ScoreBoard
  Epsilon epsilon;
};
struct ByNoisyMax {  // report-noisy-max, with Laplace noise of scale 2 sensitivity / epsilon
  Epsilon epsilon;
};
struct ByPermuteAndFlip {
  Epsilon epsilon;
};

// The k best, from the first to the last: two ways to one law and one price (top_k.h). One shot reads the scores once.
enum class Picking { kOneShot, kPeeling };
struct BestOf {
  std::size_t k = 1;
  Epsilon each;  // what each pick costs: an exponential mechanism of this epsilon
  Picking picking = Picking::kOneShot;
};

template <class Pick>
concept PickOfIndex = std::same_as<Pick, ByExponential> || std::same_as<Pick, ByNoisyMax> ||
    std::same_as<Pick, ByPermuteAndFlip> || std::same_as<Pick, BestOf>;

// Labels, each by itself.
struct ByRandomisedResponse {
  Epsilon epsilon;
};
struct ByOneHotLaplace {  // a row of as many numbers as there are classes, one-hot with Laplace noise
  Epsilon epsilon;
};

// Who pays: the plan that reserve() charged, or the release by itself, durably and before the draw. The key names the
// release within its run and can be used once.
struct Planned {};
struct Keyed {
  std::string_view key;
};
using Payment = std::variant<Planned, Keyed>;

}  // namespace parley::privacy
