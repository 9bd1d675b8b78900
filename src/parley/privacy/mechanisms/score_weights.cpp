#include "parley/privacy/mechanisms/score_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "parley/privacy/mechanisms/exact_arithmetic.h"

namespace parley::privacy {

class ExactRate {
 public:
  explicit ExactRate(Fraction rate) : value(std::move(rate)) {}
  Fraction value;
};

ScoreGrid::ScoreGrid(Grain grain, std::int64_t sensitivity)
    : grain_(grain),
      per_grain_(std::ldexp(1.0, -grain.exponent)),
      limit_(std::ldexp(static_cast<double>(kGridLimit), grain.exponent)),
      sensitivity_(sensitivity) {}

Result<ScoreGrid> ScoreGrid::make(const SelectionSettings& settings) {
  if (!(settings.sensitivity > 0) || !std::isfinite(settings.sensitivity))
    return fail(bad_input({.field = "sensitivity"}, "must be a finite number above 0",
                          fmt::format("{}", settings.sensitivity)));
  Grain grain;
  if (settings.grain) {
    grain = *settings.grain;
  } else {
    PARLEY_TRY(grain, Grain::below(settings.sensitivity, 20));
  }
  PARLEY_TRY(const std::int64_t sensitivity, rounded_sensitivity(settings.sensitivity, grain));
  return ScoreGrid(grain, sensitivity);
}

Result<std::int64_t> ScoreGrid::check(std::span<const double> scores) const {
  if (scores.empty()) return fail(bad_input({.field = "scores"}, "must not be empty"));
  // Four running maxima, and a count of what is not inside the grid; NaN is not inside.
  std::array<double, 4> top;
  top.fill(-std::numeric_limits<double>::infinity());
  std::size_t inside = 0;
  std::size_t i = 0;
  const auto look = [&](double score, double& best) {
    best = score > best ? score : best;
    inside += std::abs(score) < limit_ ? 1 : 0;
  };
  for (; i + 4 <= scores.size(); i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) look(scores[i + lane], top[lane]);
  for (; i < scores.size(); ++i) look(scores[i], top[0]);
  if (inside != scores.size())
    return fail(bad_input({.field = "scores"}, "must be finite and within 2^62 grains of zero",
                          fmt::format("{} of {} are not", scores.size() - inside, scores.size())));
  return steps(*std::max_element(top.begin(), top.end()));
}

ScoreWeights::ScoreWeights(std::shared_ptr<const ExactRate> exact, double rate, std::uint64_t mantissa, unsigned shift)
    : exact_(std::move(exact)), rate_(rate), mantissa_(mantissa), shift_(shift), exp2_(&FixedExp2::table()) {}

Result<ScoreWeights> ScoreWeights::make(const SelectionSettings& settings, const ScoreGrid& grid) {
  if (!(settings.epsilon > 0) || !std::isfinite(settings.epsilon))
    return fail(
        bad_input({.field = "epsilon"}, "must be a finite number above 0", fmt::format("{}", settings.epsilon)));
  const int sides = settings.scores == Scores::kMonotone ? 1 : 2;
  return of(ExactRate(exactly(settings.epsilon) / (sides * integer(grid.sensitivity()))));
}

Result<ScoreWeights> ScoreWeights::with_rate(double rate) {
  if (!(rate > 0) || !std::isfinite(rate))
    return fail(bad_input({.field = "epsilon"}, "must be a finite number above 0", fmt::format("{}", rate)));
  return of(ExactRate(exactly(rate)));
}

Result<ScoreWeights> ScoreWeights::of(ExactRate rate) {
  if (rate.value > 22)
    return fail(bad_input({.field = "epsilon"}, "leaves no randomness: neighbouring scores would differ by e^22",
                          fmt::format("{}", rate.value.get_d())));
  constexpr unsigned kDigits = 256;
  constexpr unsigned kWork = 512;
  const Integer kappa = minus_log2_below(exp_minus(rate.value, kWork), kWork, kDigits);
  const auto length = kappa == 0 ? 0u : static_cast<unsigned>(mpz_sizeinbase(kappa.get_mpz_t(), 2));
  std::uint64_t mantissa = 0;
  if (length >= 64) mantissa = low_word(kappa >> (length - 64));
  // kappa = mantissa * 2^(length - 64 - kDigits). A rate below 2^-190 counts as 0 here: even the widest gap
  // is then worth less than the rounding of one weight.
  const int shift = static_cast<int>(kDigits) + 64 - FixedExp2::kArgumentBits - static_cast<int>(length);
  const double approximate = rate.value.get_d();
  return ScoreWeights(std::make_shared<const ExactRate>(std::move(rate)), approximate, mantissa,
                      static_cast<unsigned>(std::clamp(shift, 0, 127)));
}

bool ScoreWeights::accept_exactly(std::uint64_t gap, std::uint64_t place, Bits& bits) const {
  const Fraction exponent = exact_->value * integer(gap);
  const Integer start = integer(place);
  LazyUniform inside;
  for (unsigned digits = 128;; digits *= 2) {
    const Integer at = (start << digits) + inside.digits(digits, bits);
    const Enclosure weight = exp_minus(exponent, digits + FixedExp2::kResultBits);
    if (at + 1 <= weight.low) return true;
    if (at >= weight.high) return false;
  }
}

unsigned __int128 below_wide(unsigned __int128 bound, Bits& bits) {
  if ((bound >> 64) == 0) return bits.below(static_cast<std::uint64_t>(bound));
  const auto high_bound = static_cast<std::uint64_t>(bound >> 64);
  const std::uint64_t mask = ~0ull >> std::countl_zero(high_bound);
  for (;;) {
    const std::uint64_t high = bits.next_u64() & mask;
    const unsigned __int128 value = static_cast<unsigned __int128>(high) << 64 | bits.next_u64();
    if (value < bound) return value;
  }
}

}  // namespace parley::privacy
