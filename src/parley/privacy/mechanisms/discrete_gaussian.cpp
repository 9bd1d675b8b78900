#include "parley/privacy/mechanisms/discrete_gaussian.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/privacy/mechanisms/noise_scale.h"
#include "parley/privacy/mechanisms/strip_law.h"

namespace parley::privacy {

namespace {

StripSampler sampler(double sigma, std::int64_t count) {
  const Fraction s = exactly(sigma);
  const Fraction times(static_cast<unsigned long>(count));
  const auto law = std::make_shared<StripLaw>(StripLaw{StripLaw::Kind::kSquare, 1 / (2 * times * s * s)});
  // Between 16 and 32 strips to one sigma: a table of at most 302 strips, and at least 95 % of draws
  // accepted.
  const int width = std::max(0, std::ilogb(sigma * std::sqrt(static_cast<double>(count))) - 4);
  return {law, {.form = StripSampler::Form::kSigned, .width_exponent = width}};
}

}  // namespace

DiscreteGaussianNoise::DiscreteGaussianNoise(double sigma, Grain grain, std::int64_t count)
    : sigma_(sigma * std::sqrt(static_cast<double>(count))), grain_(grain), sampler_(sampler(sigma, count)) {}

Result<DiscreteGaussianNoise> DiscreteGaussianNoise::make(double sigma, Grain grain) {
  PARLEY_TRY(const double grains, noise_scale_in_grains("sigma", sigma, grain));
  return DiscreteGaussianNoise(grains, grain, 1);
}

Result<DiscreteGaussianNoise> DiscreteGaussianNoise::make_sum(double sigma, Grain grain, std::int64_t count) {
  if (count < 1) return fail(bad_input({.field = "count"}, "must be at least 1", fmt::format("{}", count)));
  PARLEY_CHECK(noise_scale_in_grains("sigma", sigma * std::sqrt(static_cast<double>(count)), grain));
  return DiscreteGaussianNoise(grain.grains(sigma), grain, count);
}

void DiscreteGaussianNoise::add_to(std::span<std::int64_t> steps, Bits& bits) const {
  add_in_blocks(*this, steps, bits);
}

}  // namespace parley::privacy
