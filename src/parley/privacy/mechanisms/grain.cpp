#include "parley/privacy/mechanisms/grain.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace parley::privacy {

namespace {

constexpr int kExponentLimit = 900;

Error off_the_grid(double value) {
  return bad_input({.field = "value"}, "must be finite and within 2^62 grains of zero", fmt::format("{}", value));
}

Result<std::int64_t> on_grid(double whole, double value) {
  if (!(std::abs(whole) <= static_cast<double>(kGridLimit))) return fail(off_the_grid(value));
  return static_cast<std::int64_t>(whole);
}

Result<double> positive_grains(double sensitivity, Grain grain) {
  PARLEY_CHECK(validate(grain));
  const double grains = grain.grains(sensitivity);
  if (!(sensitivity > 0) || !(grains <= static_cast<double>(kGridLimit)))
    return fail(
        bad_input({.field = "sensitivity"}, "must be above 0 and at most 2^62 grains", fmt::format("{}", sensitivity)));
  return grains;
}

double up(double value) {
  return std::nextafter(value, std::numeric_limits<double>::infinity());
}

}  // namespace

double Grain::value() const {
  return std::ldexp(1.0, exponent);
}

double Grain::grains(double quantity) const {
  return std::ldexp(quantity, -exponent);
}

Result<Grain> Grain::below(double quantity, int bits) {
  if (!(quantity > 0) || !std::isfinite(quantity))
    return fail(
        bad_input({.field = "grain"}, "needs a positive finite quantity to be below", fmt::format("{}", quantity)));
  const Grain grain{std::ilogb(quantity) - bits};
  PARLEY_CHECK(validate(grain));
  return grain;
}

Result<void> validate(Grain grain) {
  if (grain.exponent < -kExponentLimit || grain.exponent > kExponentLimit)
    return fail(bad_input({.field = "grain"}, "must be a power of two between 2^-900 and 2^900",
                          fmt::format("2^{}", grain.exponent)));
  return {};
}

Result<std::int64_t> rounded_down(double value, Grain grain) {
  return on_grid(std::floor(grain.grains(value)), value);
}

Result<std::int64_t> rounded_to_nearest(double value, Grain grain) {
  // Not std::round: it moves halves away from zero, and -1/2 and 1/2 would end two grains apart.
  const double grains = grain.grains(value);
  const double floor = std::floor(grains);
  return on_grid(grains - floor >= 0.5 ? floor + 1 : floor, value);
}

Result<std::int64_t> rounded_towards_zero(double value, Grain grain) {
  return on_grid(std::trunc(grain.grains(value)), value);
}

double from_grid(std::int64_t steps, Grain grain) {
  return std::ldexp(static_cast<double>(steps), grain.exponent);
}

Result<std::int64_t> rounded_sensitivity(double sensitivity, Grain grain) {
  PARLEY_TRY(const double grains, positive_grains(sensitivity, grain));
  // A sensitivity so small that its count of grains underflowed still moves a rounded value by one.
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(grains)));
}

Result<double> rounded_l1_sensitivity(double sensitivity, Grain grain, std::size_t dimensions) {
  if (dimensions == 0) return fail(bad_input({.field = "dimensions"}, "must be at least 1", "0"));
  if (dimensions == 1) {
    // ceil() of a double is a double, so nothing is rounded here.
    PARLEY_TRY(const std::int64_t whole, rounded_sensitivity(sensitivity, grain));
    return static_cast<double>(whole);
  }
  PARLEY_TRY(const double grains, positive_grains(sensitivity, grain));
  return up(grains + up(static_cast<double>(dimensions)));
}

Result<double> rounded_l2_sensitivity(double sensitivity, Grain grain, std::size_t dimensions) {
  if (dimensions <= 1) return rounded_l1_sensitivity(sensitivity, grain, dimensions);
  PARLEY_TRY(const double grains, positive_grains(sensitivity, grain));
  return up(grains + up(std::sqrt(static_cast<double>(dimensions))));
}

void add_noise(std::span<std::int64_t> steps, std::span<const std::int64_t> noise) {
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (__builtin_add_overflow(steps[i], noise[i], &steps[i]))
      steps[i] = noise[i] > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

}  // namespace parley::privacy
