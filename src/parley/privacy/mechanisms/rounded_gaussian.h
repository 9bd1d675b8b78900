// Gaussian noise rounded to the grid: Z = nearest whole number to N(0, s^2), s = sigma / grain, Z in grains, the normal
// variable being exactly that and no approximation of it.
//
// For whole numbers v, v + Z = nearest(v + N(0, s^2)) is a function of the textbook Gaussian mechanism's output, for
// single values and vectors: every bound that holds for the Gaussian mechanism holds as it stands, the exact privacy
// loss distribution included. This is the noise of vector releases. Proof: rounded_gaussian.md.
#pragma once
#include <cstdint>
#include <span>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/mechanisms/grain.h"
#include "parley/privacy/mechanisms/strip_sampler.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

class RoundedGaussianNoise {
 public:
  // `sigma` is in the unit of the values, and is used exactly as the fraction that the double is.
  static Result<RoundedGaussianNoise> make(double sigma, Grain grain);

  std::int64_t draw(Bits& bits) const { return sampler_.draw(bits); }
  void draw(Bits& bits, std::span<std::int64_t> out) const { sampler_.draw(bits, out); }
  void add_to(std::span<std::int64_t> steps, Bits& bits) const;

  [[nodiscard]] double sigma_in_grains() const { return sigma_; }
  [[nodiscard]] Grain grain() const { return grain_; }
  // What a release of integers with this l2-sensitivity, in grains, says to the accountant.
  [[nodiscard]] Gaussian event(double sensitivity_in_grains) const { return {sigma_, sensitivity_in_grains}; }

 private:
  RoundedGaussianNoise(double sigma, Grain grain);
  double sigma_;  // in grains
  Grain grain_;
  StripSampler sampler_;
};

}  // namespace parley::privacy
