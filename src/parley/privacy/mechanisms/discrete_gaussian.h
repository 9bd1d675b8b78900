// Discrete Gaussian noise: P(Z = z) proportional to exp(-z^2 / (2 s^2)), s = sigma / grain, Z in grains. Canonne,
// Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", 2020.
//
// Added to integers of l2-sensitivity D grains it is D^2/(2 s^2)-zCDP. Proof and sampling: discrete_gaussian.md.
#pragma once
#include <cstdint>
#include <span>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/mechanisms/grain.h"
#include "parley/privacy/mechanisms/strip_sampler.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

class DiscreteGaussianNoise {
 public:
  // `sigma` is in the unit of the values, and is used exactly as the fraction that the double is.
  static Result<DiscreteGaussianNoise> make(double sigma, Grain grain);

  // Variance `count` sigma^2, exactly: the law of a sum of `count` draws, but for a factor that no
  // number can show (noisy_total.md).
  static Result<DiscreteGaussianNoise> make_sum(double sigma, Grain grain, std::int64_t count);

  std::int64_t draw(Bits& bits) const { return sampler_.draw(bits); }
  void draw(Bits& bits, std::span<std::int64_t> out) const { sampler_.draw(bits, out); }
  void add_to(std::span<std::int64_t> steps, Bits& bits) const;

  [[nodiscard]] double sigma_in_grains() const { return sigma_; }
  [[nodiscard]] Grain grain() const { return grain_; }
  // What a release of `dimensions` integers with this l2-sensitivity, in grains, says to the accountant.
  [[nodiscard]] DiscreteGaussian event(double sensitivity_in_grains, std::int64_t dimensions = 1) const {
    return {sigma_, sensitivity_in_grains, dimensions};
  }

 private:
  DiscreteGaussianNoise(double sigma, Grain grain, std::int64_t count);
  double sigma_;  // in grains
  Grain grain_;
  StripSampler sampler_;
};

}  // namespace parley::privacy
