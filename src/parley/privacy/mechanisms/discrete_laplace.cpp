#include "parley/privacy/mechanisms/discrete_laplace.h"

#include <algorithm>
#include <cmath>

#include "parley/privacy/mechanisms/noise_scale.h"
#include "parley/privacy/mechanisms/strip_law.h"

namespace parley::privacy {

namespace {

StripSampler sampler(double scale) {
  const auto law = std::make_shared<StripLaw>(StripLaw{StripLaw::Kind::kLinear, 1 / exactly(scale)});
  // Between 8 and 16 strips to one scale: a table of at most 710 strips, and at least 94 % of draws accepted.
  const int width = std::max(0, std::ilogb(scale) - 3);
  return {law, {.form = StripSampler::Form::kSigned, .width_exponent = width}};
}

}  // namespace

DiscreteLaplaceNoise::DiscreteLaplaceNoise(double scale, Grain grain)
    : scale_(scale), grain_(grain), sampler_(sampler(scale)) {}

Result<DiscreteLaplaceNoise> DiscreteLaplaceNoise::make(double scale, Grain grain) {
  PARLEY_TRY(const double grains, noise_scale_in_grains("scale", scale, grain));
  return DiscreteLaplaceNoise(grains, grain);
}

void DiscreteLaplaceNoise::add_to(std::span<std::int64_t> steps, Bits& bits) const {
  add_in_blocks(*this, steps, bits);
}

}  // namespace parley::privacy
