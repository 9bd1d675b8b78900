#include "parley/privacy/mechanisms/poisson_sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "parley/privacy/mechanisms/strip_law.h"

namespace parley::privacy {

namespace {

constexpr std::size_t kGapsAtOnce = 64;

}  // namespace

PoissonSampling::PoissonSampling(double rate) : rate_(rate) {
  if (rate == 1) return;
  const auto law = std::make_shared<StripLaw>(StripLaw{StripLaw::Kind::kGeometric, 1 - exactly(rate)});
  // The decay length is -1/ln(1-q), between 1/q - 1 and 1/q; at least 8 strips to it, as for the Laplace law.
  const int width = std::max(0, std::ilogb(1 / rate) - 4);
  gaps_.emplace(law, StripSampler::Shape{.form = StripSampler::Form::kMagnitude, .width_exponent = width});
}

Result<PoissonSampling> PoissonSampling::make(double rate) {
  if (!(rate >= 0x1p-40) || !(rate <= 1))
    return fail(bad_input({.field = "sampling_rate"}, "must lie between 2^-40 and 1", fmt::format("{}", rate)));
  return PoissonSampling(rate);
}

void PoissonSampling::draw(std::size_t records, Bits& bits, std::vector<std::size_t>& joined) const {
  joined.clear();
  if (!gaps_) {
    joined.resize(records);
    for (std::size_t i = 0; i < records; ++i) joined[i] = i;
    return;
  }
  // Gaps come in blocks, which is quicker; those beyond the last record are independent of the others and
  // dropped.
  std::array<std::int64_t, kGapsAtOnce> gaps;
  for (std::size_t next = 0;;) {
    gaps_->draw(bits, gaps);
    for (const std::int64_t drawn : gaps) {
      const auto gap = static_cast<std::size_t>(drawn);
      if (gap >= records - next) return;
      joined.push_back(next + gap);
      next += gap + 1;
    }
  }
}

}  // namespace parley::privacy
