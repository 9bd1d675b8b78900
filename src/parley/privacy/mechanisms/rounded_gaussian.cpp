#include "parley/privacy/mechanisms/rounded_gaussian.h"

#include <cmath>

#include "parley/privacy/mechanisms/noise_scale.h"
#include "parley/privacy/mechanisms/strip_law.h"

namespace parley::privacy {

namespace {

StripSampler sampler(double sigma) {
  const Fraction s = exactly(sigma);
  const auto law = std::make_shared<StripLaw>(StripLaw{StripLaw::Kind::kSquare, 1 / (2 * s * s)});
  // Strips as in the discrete Gaussian; here they may be narrower than a grain.
  return {law, {.form = StripSampler::Form::kRoundedReal, .width_exponent = std::ilogb(sigma) - 4}};
}

}  // namespace

RoundedGaussianNoise::RoundedGaussianNoise(double sigma, Grain grain)
    : sigma_(sigma), grain_(grain), sampler_(sampler(sigma)) {}

Result<RoundedGaussianNoise> RoundedGaussianNoise::make(double sigma, Grain grain) {
  PARLEY_TRY(const double grains, noise_scale_in_grains("sigma", sigma, grain));
  return RoundedGaussianNoise(grains, grain);
}

void RoundedGaussianNoise::add_to(std::span<std::int64_t> steps, Bits& bits) const {
  add_in_blocks(*this, steps, bits);
}

}  // namespace parley::privacy
