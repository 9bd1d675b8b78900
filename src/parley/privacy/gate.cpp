#include "parley/privacy/gate.h"

#include <fmt/format.h>

#include "parley/privacy/mechanisms/discrete_laplace.h"
#include "parley/privacy/mechanisms/exponential.h"
#include "parley/privacy/mechanisms/rounded_gaussian.h"

namespace parley::privacy {

namespace {

// draw() or, when the generator fails, an error: there is no weaker source to fall back to, and nothing is released.
template <class Draw>
auto drawn(const Draw& draw) -> decltype(draw()) {
  try {
    return draw();
  } catch (const RandomnessFailure&) {
    return fail(failed("the source of randomness failed; the release was charged and did not happen"));
  }
}

}  // namespace

Result<Gate> Gate::open(Ledger& ledger, Purse purse, std::string run, Bits& bits) {
  if (run.empty()) return fail(bad_input({.field = "run"}, "a run needs a name, so that its releases can be told apart"));
  return Gate(ledger, std::move(purse), std::move(run), bits);
}

template <class T, class Norm>
Result<void> Gate::check(const Sensitive<T, Norm>& value) const {
  if (!charges()) return fail(failed("a run without privacy has no budget to pay noise from"));
  if (value.neighbours() != purse_.neighbours || value.unit() != purse_.unit)
    return fail(failed(fmt::format("a {} bound under {} cannot be paid from a {} budget under {}", name(value.unit()), name(value.neighbours()),
                                   name(purse_.unit), name(purse_.neighbours))));
  return {};
}

Result<void> Gate::charge(const Mechanism& mechanism, std::string_view key) {
  PARLEY_CHECK(ledger_->charge(purse_, {run_, std::string(key), {mechanism, 1}, bits_->claims_valid()}));
  return {};
}

std::vector<double> Gate::values_of(const GridVector& grid) {
  std::vector<double> values;
  values.reserve(grid.counts.size());
  for (const std::int64_t count : grid.counts) values.push_back(from_grid(count, grid.grain));
  return values;
}

Result<Released<std::vector<double>>> Gate::gaussian(const Sensitive<GridVector, L2>& value, Deviation noise, std::string_view key) {
  PARLEY_CHECK(check(value));
  const Grain grain = value.value_.grain;
  PARLEY_TRY(const RoundedGaussianNoise source, RoundedGaussianNoise::make(noise.sigma, grain));
  PARLEY_CHECK(charge(source.event(grain.grains(value.sensitivity())), key));
  return drawn([&]() -> Result<Released<std::vector<double>>> {
    GridVector noisy = value.value_;
    source.add_to(noisy.counts, *bits_);
    return Released<std::vector<double>>(values_of(noisy), bits_->claims_valid());
  });
}

Result<Released<std::vector<double>>> Gate::laplace(const Sensitive<GridVector, L1>& value, LaplaceScale noise, std::string_view key) {
  PARLEY_CHECK(check(value));
  const Grain grain = value.value_.grain;
  PARLEY_TRY(const DiscreteLaplaceNoise source, DiscreteLaplaceNoise::make(noise.scale, grain));
  const auto dimensions = static_cast<std::int64_t>(value.value_.counts.size());
  PARLEY_CHECK(charge(source.event(grain.grains(value.sensitivity()), dimensions), key));
  return drawn([&]() -> Result<Released<std::vector<double>>> {
    GridVector noisy = value.value_;
    source.add_to(noisy.counts, *bits_);
    return Released<std::vector<double>>(values_of(noisy), bits_->claims_valid());
  });
}

Result<Released<std::size_t>> Gate::select(const Sensitive<GridVector, Linf>& scores, Epsilon epsilon, std::string_view key) {
  PARLEY_CHECK(check(scores));
  PARLEY_TRY(const ExponentialSelection selection,
             ExponentialSelection::make({.epsilon = epsilon.value(), .sensitivity = scores.sensitivity(), .grain = scores.value_.grain}));
  PARLEY_CHECK(charge(selection.event(), key));
  return drawn([&]() -> Result<Released<std::size_t>> {
    PARLEY_TRY(const std::size_t index, selection.select(values_of(scores.value_), *bits_));
    return Released<std::size_t>(index, bits_->claims_valid());
  });
}

}  // namespace parley::privacy
