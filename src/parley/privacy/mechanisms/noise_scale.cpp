#include "parley/privacy/mechanisms/noise_scale.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace parley::privacy {

Result<double> noise_scale_in_grains(std::string_view field, double scale, Grain grain) {
  PARLEY_CHECK(validate(grain));
  if (!(scale > 0) || !std::isfinite(scale))
    return fail(bad_input({.field = std::string(field)}, "must be a finite number above 0", fmt::format("{}", scale)));
  const double grains = grain.grains(scale);
  if (!(grains >= 0x1p-20) || !(grains <= 0x1p40))
    return fail(bad_input({.field = std::string(field)}, "must lie between 2^-20 and 2^40 grains",
                          fmt::format("{} with a grain of 2^{}", scale, grain.exponent)));
  return grains;
}

}  // namespace parley::privacy
