// Gate::release and the draws behind it, mechanism by mechanism.
#include <fmt/format.h>

#include <cmath>

#include "parley/privacy/gate.h"
#include "parley/privacy/mechanisms/label_laplace.h"
#include "parley/privacy/mechanisms/permute_and_flip.h"
#include "parley/privacy/mechanisms/randomised_response.h"
#include "parley/privacy/mechanisms/top_k.h"
#include "parley/privacy/release.h"

namespace parley::privacy {

namespace {

// Shares of noise on a masked sum, in grains: what the proof needs, and what leaves room for a sum.
constexpr double kFewestMaskedGrains = 0x1p22;
constexpr double kMostMaskedGrains = 0x1p40;

template <class Noise>
GridVector plus_noise(GridVector value, const Noise& noise, Bits& bits) {
  noise.add_to(value.counts, bits);
  return value;
}

}  // namespace

// ---- tables and events ----

std::vector<double> values_of(const GridVector& grid) {
  std::vector<double> values;
  values.reserve(grid.counts.size());
  const double grain = grid.grain.value();
  for (const std::int64_t count : grid.counts) values.push_back(static_cast<double>(count) * grain);
  return values;
}

Result<const RoundedGaussianNoise*> Gate::gaussian_source(double sigma, Grain grain) {
  return gaussians_.get({sigma, grain}, [&] { return RoundedGaussianNoise::make(sigma, grain); });
}

Result<const DiscreteGaussianNoise*> Gate::discrete_gaussian_source(double sigma, Grain grain) {
  return discrete_gaussians_.get({sigma, grain}, [&] { return DiscreteGaussianNoise::make(sigma, grain); });
}

Result<const DiscreteLaplaceNoise*> Gate::laplace_source(double scale, Grain grain) {
  return laplaces_.get({scale, grain}, [&] { return DiscreteLaplaceNoise::make(scale, grain); });
}

Result<const ExponentialSelection*> Gate::selection(double epsilon, double sensitivity, std::optional<Grain> grain) {
  return selections_.get({epsilon, sensitivity, grain}, [&] {
    return ExponentialSelection::make({.epsilon = epsilon, .sensitivity = sensitivity, .grain = grain});
  });
}

Result<Event> Gate::gaussian_event(double sensitivity, Grain grain, Deviation noise) {
  PARLEY_CHECK(validate(grain));
  const Event event{Gaussian{grain.grains(noise.sigma), grain.grains(sensitivity)}, 1};
  PARLEY_CHECK(validate(event));
  return event;
}

Result<Event> Gate::laplace_event(double sensitivity, Grain grain, LaplaceScale noise, std::int64_t dimensions) {
  PARLEY_CHECK(validate(grain));
  const Event event{DiscreteLaplace{grain.grains(noise.scale), grain.grains(sensitivity), dimensions}, 1};
  PARLEY_CHECK(validate(event));
  return event;
}

Result<Event> Gate::masked_event(double sensitivity, Grain grain, NoiseShare noise) {
  PARLEY_CHECK(validate(grain));
  if (noise.parties < 2)
    return fail(bad_input({.field = "parties"}, "a sum of fewer than two parties hides nobody",
                          fmt::format("{}", noise.parties)));
  const double grains = grain.grains(noise.sigma);
  if (!(grains >= kFewestMaskedGrains) || !(grains <= kMostMaskedGrains))
    return fail(
        bad_input({.field = "grain"}, "a share of noise must have 2^22 to 2^40 grains", fmt::format("{}", grains)));
  // A party that looks at the sum knows its own noise: one share is left out. 2^-40 is what discrete noise takes.
  const double others = std::sqrt(static_cast<double>(noise.parties - 1));
  const Event event{Gaussian{grains * others * (1 - 0x1p-40), grain.grains(sensitivity)}, 1};
  PARLEY_CHECK(validate(event));
  return event;
}

// ---- numbers ----

template <class Noise>
Result<Released<double>> Gate::noisy(const GridValue& value, const Noise& noise) {
  return released<double>(1, [&](Bits& bits) -> Result<double> {
    std::int64_t count = value.count;
    noise.add_to({&count, 1}, bits);
    return from_grid(count, value.grain);
  });
}

template <class Noise>
Result<Released<std::vector<double>>> Gate::noisy(const GridVector& value, const Noise& noise) {
  return released<std::vector<double>>(value.counts.size(), [&](Bits& bits) -> Result<std::vector<double>> {
    return values_of(plus_noise(value, noise, bits));
  });
}

Result<Released<double>> Gate::release(const Sensitive<GridValue, L2>& value, Deviation noise, const Payment& payment) {
  PARLEY_CHECK(check(value));
  const Grain grain = value.value_.grain;
  PARLEY_TRY(const RoundedGaussianNoise* source, gaussian_source(noise.sigma, grain));
  PARLEY_CHECK(pay({source->event(grain.grains(value.sensitivity())), 1}, payment));
  return noisy(value.value_, *source);
}

Result<Released<std::vector<double>>> Gate::release(const Sensitive<GridVector, L2>& value, Deviation noise,
                                                    const Payment& payment) {
  PARLEY_CHECK(check(value));
  const Grain grain = value.value_.grain;
  PARLEY_TRY(const RoundedGaussianNoise* source, gaussian_source(noise.sigma, grain));
  PARLEY_CHECK(pay({source->event(grain.grains(value.sensitivity())), 1}, payment));
  return noisy(value.value_, *source);
}

Result<Released<double>> Gate::release(const Sensitive<GridValue, L1>& value, LaplaceScale noise,
                                       const Payment& payment) {
  PARLEY_CHECK(check(value));
  const Grain grain = value.value_.grain;
  PARLEY_TRY(const DiscreteLaplaceNoise* source, laplace_source(noise.scale, grain));
  PARLEY_CHECK(pay({source->event(grain.grains(value.sensitivity()), 1), 1}, payment));
  return noisy(value.value_, *source);
}

Result<Released<std::vector<double>>> Gate::release(const Sensitive<GridVector, L1>& value, LaplaceScale noise,
                                                    const Payment& payment) {
  PARLEY_CHECK(check(value));
  const Grain grain = value.value_.grain;
  PARLEY_TRY(const DiscreteLaplaceNoise* source, laplace_source(noise.scale, grain));
  const auto dimensions = static_cast<std::int64_t>(value.value_.counts.size());
  PARLEY_CHECK(pay({source->event(grain.grains(value.sensitivity()), dimensions), 1}, payment));
  return noisy(value.value_, *source);
}

Result<Released<std::vector<double>>> Gate::release(Sensitive<SampledVector, L2>&& given, Deviation noise,
                                                    const Payment& payment) {
  const Sensitive<SampledVector, L2> value = std::move(given);
  PARLEY_CHECK(check(value));
  const GridVector& sum = value.value_.sum;
  PARLEY_TRY(const RoundedGaussianNoise* source, gaussian_source(noise.sigma, sum.grain));
  PARLEY_CHECK(pay({SubsampledGaussian{noise.sigma / value.sensitivity(), value.value_.rate}, 1}, payment));
  return noisy(sum, *source);
}

Result<Released<MaskedVector>> Gate::release(const Sensitive<GridVector, L2>& value, Masked masked,
                                             const Payment& payment) {
  const auto& [noise, mask] = masked;
  PARLEY_CHECK(check(value));
  const GridVector& grid = value.value_;
  // Where parties may drop out, fewer add noise than masks are made with; more never do.
  if (mask.size() != grid.counts.size() || mask.parties_ < noise.parties)
    return fail(failed("a mask must be as long as the value, and of the parties that add noise"));
  PARLEY_TRY(const Event event, masked_event(value.sensitivity(), grid.grain, noise));
  PARLEY_TRY(const DiscreteGaussianNoise* source, discrete_gaussian_source(noise.sigma, grid.grain));
  PARLEY_CHECK(pay(event, payment));
  return released<MaskedVector>(2 * grid.counts.size(), [&](Bits& bits) -> Result<MaskedVector> {
    GridVector noised = plus_noise(grid, *source, bits);
    for (std::size_t k = 0; k < noised.counts.size(); ++k)  // modulo 2^64
      noised.counts[k] =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(noised.counts[k]) + masked.mask.words_[k]);
    return MaskedVector{std::move(noised.counts)};
  });
}

Result<Released<MaskedVector>> Gate::under_mask(const Released<std::vector<double>>& value, Grain grain,
                                                OneTimeMask mask) {
  const std::vector<double>& values = value.value();
  if (mask.size() != values.size()) return fail(failed("a mask must be as long as the value"));
  MaskedVector masked{std::vector<std::int64_t>(values.size())};
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double grains = grain.grains(values[k]);
    if (!(std::abs(grains) < 0x1p62) || grains != std::floor(grains))
      return fail(failed("a value under a mask must be whole grains, below 2^62"));
    masked.words[k] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(static_cast<std::int64_t>(grains)) + mask.words_[k]);
  }
  return Released<MaskedVector>(std::move(masked), value.claimed());
}

// ---- indices ----

namespace {

// Scores as a mechanism reads them.
struct ReadScores {
  std::vector<double> held{};  // where the list was made for the purpose
  std::span<const double> values;
  std::optional<Grain> grain{};
};

ReadScores read(const ScoreList& scores) {
  return {.values = scores.values()};
}

ReadScores read(const GridVector& scores) {
  ReadScores read{.held = values_of(scores), .values = {}, .grain = scores.grain};
  read.values = read.held;
  return read;
}

}  // namespace

template <ManyScores Scores>
Result<Released<std::size_t>> Gate::release(const Sensitive<Scores, Linf>& scores, ByExponential pick,
                                            const Payment& payment) {
  PARLEY_CHECK(check(scores));
  const ReadScores given = read(scores.value_);
  PARLEY_TRY(const ExponentialSelection* mechanism, selection(pick.epsilon.value(), scores.sensitivity(), given.grain));
  PARLEY_CHECK(pay({mechanism->event(), 1}, payment));
  return released<std::size_t>(1, [&](Bits& bits) { return mechanism->select(given.values, bits); });
}

template <ManyScores Scores>
Result<Released<std::size_t>> Gate::release(const Sensitive<Scores, Linf>& scores, ByNoisyMax pick,
                                            const Payment& payment) {
  PARLEY_CHECK(check(scores));
  const ReadScores given = read(scores.value_);
  const double epsilon = pick.epsilon.value(), sensitivity = scores.sensitivity();
  PARLEY_TRY(const NoisyMax* mechanism, noisy_maxima_.get({epsilon, sensitivity, given.grain}, [&] {
    return NoisyMax::make({.epsilon = epsilon, .sensitivity = sensitivity, .grain = given.grain});
  }));
  PARLEY_CHECK(pay({mechanism->event(), 1}, payment));
  return released<std::size_t>(1, [&](Bits& bits) { return mechanism->select(given.values, bits); });
}

template <ManyScores Scores>
Result<Released<std::size_t>> Gate::release(const Sensitive<Scores, Linf>& scores, ByPermuteAndFlip pick,
                                            const Payment& payment) {
  PARLEY_CHECK(check(scores));
  const ReadScores given = read(scores.value_);
  PARLEY_TRY(const PermuteAndFlip mechanism,
             PermuteAndFlip::make(
                 {.epsilon = pick.epsilon.value(), .sensitivity = scores.sensitivity(), .grain = given.grain}));
  PARLEY_CHECK(pay({mechanism.event(), 1}, payment));
  return released<std::size_t>(1, [&](Bits& bits) { return mechanism.select(given.values, bits); });
}

template <ManyScores Scores>
Result<Released<std::vector<std::size_t>>> Gate::release(const Sensitive<Scores, Linf>& scores, BestOf best,
                                                         const Payment& payment) {
  PARLEY_CHECK(check(scores));
  const ReadScores given = read(scores.value_);
  if (best.k > given.values.size())
    return fail(bad_input({.field = "k"}, fmt::format("must be at most the number of scores, {}", given.values.size()),
                          fmt::format("{}", best.k)));
  PARLEY_TRY(
      const TopK mechanism,
      TopK::make({.epsilon = best.each.value(), .sensitivity = scores.sensitivity(), .grain = given.grain}, best.k));
  PARLEY_CHECK(pay(mechanism.event(), payment));
  return released<std::vector<std::size_t>>(best.k, [&](Bits& bits) {
    return best.picking == Picking::kOneShot ? mechanism.one_shot(given.values, bits)
                                             : mechanism.peel(given.values, bits);
  });
}

using ListedScores = Sensitive<ScoreList, Linf>;
using GridScores = Sensitive<GridVector, Linf>;
using Index = Result<Released<std::size_t>>;
using Indices = Result<Released<std::vector<std::size_t>>>;
template Index Gate::release(const ListedScores&, ByExponential, const Payment&);
template Index Gate::release(const ListedScores&, ByNoisyMax, const Payment&);
template Index Gate::release(const ListedScores&, ByPermuteAndFlip, const Payment&);
template Indices Gate::release(const ListedScores&, BestOf, const Payment&);
template Index Gate::release(const GridScores&, ByExponential, const Payment&);
template Index Gate::release(const GridScores&, ByNoisyMax, const Payment&);
template Index Gate::release(const GridScores&, ByPermuteAndFlip, const Payment&);
template Indices Gate::release(const GridScores&, BestOf, const Payment&);

// ---- labels ----

Result<Released<std::vector<std::size_t>>> Gate::release(const Sensitive<ClassLabels, Hamming>& labels,
                                                         ByRandomisedResponse response, const Payment& payment) {
  PARLEY_CHECK(check(labels));
  const ClassLabels& given = labels.value_;
  PARLEY_TRY(const RandomisedResponse mechanism, RandomisedResponse::make(response.epsilon.value(), given.classes));
  PARLEY_CHECK(pay({mechanism.event(), 1}, payment));
  return released<std::vector<std::size_t>>(given.labels.size(), [&](Bits& bits) -> Result<std::vector<std::size_t>> {
    std::vector<std::size_t> answers = given.labels;
    PARLEY_CHECK(mechanism.respond(answers, bits));
    return answers;
  });
}

Result<Released<std::vector<double>>> Gate::release(const Sensitive<ClassLabels, Hamming>& labels,
                                                    ByOneHotLaplace noise, const Payment& payment) {
  PARLEY_CHECK(check(labels));
  const ClassLabels& given = labels.value_;
  PARLEY_TRY(const LabelLaplace mechanism, LabelLaplace::make(noise.epsilon.value(), given.classes));
  PARLEY_CHECK(pay({mechanism.event(), 1}, payment));
  return released<std::vector<double>>(
      given.labels.size() * given.classes, [&](Bits& bits) -> Result<std::vector<double>> {
        // Labels are below the number of classes, so there is a value.
        return values_of({mechanism.release(given.labels, bits).value(), mechanism.grain()});
      });
}

// ---- in the clear, under a mask ----

Result<Released<MaskedVector>> Gate::unprotected(Private<std::vector<std::int64_t>> counts, OneTimeMask mask) const {
  if (charges()) return fail(failed("a private run releases no sum without noise"));
  std::vector<std::int64_t> words = PrivateReader::take(std::move(counts));
  if (mask.size() != words.size()) return fail(failed("the mask is of another size than the vector"));
  for (std::size_t c = 0; c < words.size(); ++c)
    words[c] = static_cast<std::int64_t>(static_cast<std::uint64_t>(words[c]) + mask.words_[c]);
  return Released<MaskedVector>(MaskedVector{std::move(words)}, false);
}

// ---- what is drawn beside releases ----

Result<Batch> Gate::sample(const PoissonSampling& sampling, std::size_t records) {
  if (replays()) return Batch({}, sampling.rate());
  Stream* const own = stream();
  if (own == nullptr)
    return fail(failed(charges() ? "a rehearsal draws nothing" : "a run without privacy draws no secret sample"));
  if (own->sampling == nullptr) {
    PARLEY_TRY(own->sampling, own->now->fork("sampling"));
  }
  return drawn([&]() -> Result<Batch> {
    std::vector<std::size_t> joined;
    sampling.draw(records, *own->sampling, joined);
    return Batch(std::move(joined), sampling.rate());
  });
}

Result<MaskSecret> Gate::mask_secret() {
  std::unique_ptr<Bits> fresh;  // of a replay, which draws no noise
  if (bits() == nullptr) {
    PARLEY_TRY(fresh, SecureGenerator::from_system());
  }
  return drawn([&]() -> Result<MaskSecret> {
    MaskSecret secret{};
    (fresh ? fresh.get() : bits())->fill(secret);
    return secret;
  });
}

}  // namespace parley::privacy
