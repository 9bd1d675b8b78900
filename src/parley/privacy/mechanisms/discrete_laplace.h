// Discrete Laplace noise: P(Z = z) = tanh(1/(2t)) exp(-|z|/t), t = scale / grain, Z in grains. Ghosh, Roughgarden,
// Sundararajan 2009; exact sampling in the sense of Canonne, Kamath, Steinke 2020.
//
// Added to integers of l1-sensitivity D grains it is (D/t)-DP. Proof and sampling: discrete_laplace.md.
#pragma once
#include <cstdint>
#include <span>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/mechanisms/grain.h"
#include "parley/privacy/mechanisms/strip_sampler.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

class DiscreteLaplaceNoise {
 public:
  // `scale` is in the unit of the values, and is used exactly as the fraction that the double is.
  static Result<DiscreteLaplaceNoise> make(double scale, Grain grain);

  std::int64_t draw(Bits& bits) const { return sampler_.draw(bits); }
  void draw(Bits& bits, std::span<std::int64_t> out) const { sampler_.draw(bits, out); }
  void add_to(std::span<std::int64_t> steps, Bits& bits) const;

  [[nodiscard]] double scale_in_grains() const { return scale_; }
  [[nodiscard]] Grain grain() const { return grain_; }
  // What a release of `dimensions` integers with this l1-sensitivity, in grains, says to the accountant.
  [[nodiscard]] DiscreteLaplace event(double sensitivity_in_grains, std::int64_t dimensions = 1) const {
    return {scale_, sensitivity_in_grains, dimensions};
  }

 private:
  DiscreteLaplaceNoise(double scale, Grain grain);
  double scale_;  // in grains
  Grain grain_;
  StripSampler sampler_;
};

}  // namespace parley::privacy
