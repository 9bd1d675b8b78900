#include "parley/privacy/mechanisms/discrete_gaussian.h"

#include <algorithm>
#include <cmath>

#include "parley/privacy/mechanisms/noise_scale.h"
#include "parley/privacy/mechanisms/strip_law.h"

namespace parley::privacy {

namespace {

StripSampler sampler(double sigma) {
  const Fraction s = exactly(sigma);
  const auto law = std::make_shared<StripLaw>(StripLaw{StripLaw::Kind::kSquare, 1 / (2 * s * s)});
  // Between 16 and 32 strips to one sigma: a table of at most 302 strips, and at least 95 % of draws
  // accepted.
  const int width = std::max(0, std::ilogb(sigma) - 4);
  return {law, {.outcome = StripSampler::Outcome::kSigned, .width_exponent = width}};
}

}  // namespace

DiscreteGaussianNoise::DiscreteGaussianNoise(double sigma, Grain grain)
    : sigma_(sigma), grain_(grain), sampler_(sampler(sigma)) {}

Result<DiscreteGaussianNoise> DiscreteGaussianNoise::make(double sigma, Grain grain) {
  PARLEY_TRY(const double grains, noise_scale_in_grains("sigma", sigma, grain));
  return DiscreteGaussianNoise(grains, grain);
}

void DiscreteGaussianNoise::add_to(std::span<std::int64_t> steps, Bits& bits) const {
  add_in_blocks(*this, steps, bits);
}

}  // namespace parley::privacy
