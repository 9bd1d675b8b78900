// What leaves under masks that a dealer handed out: masking/masked_descent.md.
#include <fmt/format.h>

#include <cmath>

#include "parley/privacy/gate.h"
#include "parley/privacy/ledger/digest.h"

namespace parley::privacy {

namespace {

// Of a contributor, in whole numbers: noisy_total.md, 1 and 2, need more than 4 and lose 16 of the variance.
constexpr double kFewestGrains = 16, kMostGrains = 0x1p40;

Result<void> check_shares(std::span<const std::vector<std::uint64_t>> others, std::size_t size) {
  for (const auto& share : others)
    if (share.size() != size) return fail(bad_input({.field = "task"}, "holds a share of another size"));
  return {};
}

void add_shares(std::span<const std::vector<std::uint64_t>> others, std::vector<std::int64_t>& words) {
  for (const auto& share : others)
    for (std::size_t c = 0; c < words.size(); ++c)
      words[c] = static_cast<std::int64_t>(static_cast<std::uint64_t>(words[c]) + share[c]);
}

}  // namespace

template <RingWord Word>
Result<UnderMask<Word>> Gate::under(Private<std::vector<Word>> value, DealtMask<Word> mask) const {
  if (mask.purpose_ == Dealt::kProducts && charges())
    return fail(failed("a private run releases no share of a sum without noise"));
  std::vector<Word> words = PrivateReader::take(std::move(value));
  if (mask.size() != words.size()) return fail(failed("the mask is of another size than the value"));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] += mask.words_[i];
  return UnderMask<Word>(std::move(words));
}

template <RingWord Word>
Result<Released<std::string>> Gate::sealed(const UnderMask<Word>& value, int bits, std::string_view head,
                                           PeerSeal& to) {
  std::string content(head);
  content += packed<Word>(value.words_, bits);
  PARLEY_TRY(std::string bytes, to.seal(content));
  return Released<std::string>(std::move(bytes), true);
}

template <RingWord Word>
UnderMask<Word> Gate::joined(std::vector<UnderMask<Word>> values) {
  std::vector<Word> all;
  for (UnderMask<Word>& value : values) {
    all.insert(all.end(), value.words_.begin(), value.words_.end());
    value.words_ = {};
  }
  return UnderMask<Word>(std::move(all));
}

template <RingWord Word>
std::string Gate::kept(const UnderMask<Word>& value, int bits) {
  return packed<Word>(value.words_, bits);
}

template <RingWord Word>
std::string Gate::digest(const UnderMask<Word>& value, int bits) {
  return digest_of(packed<Word>(value.words_, bits));
}

Result<Event> Gate::shared_event(SharedNoise noise) {
  if (noise.contributors < 2)
    return fail(
        bad_input({.field = "contributors"}, "whoever adds all noise knows it", fmt::format("{}", noise.contributors)));
  const Event event{Gaussian{noise.multiplier, 1.0}, 1};
  PARLEY_CHECK(validate(event));
  return event;
}

// sqrt((contributors - 1) s^2 - 16) >= multiplier sensitivity, with room for the rounding of both sides.
Result<double> Gate::shared_deviation(double sensitivity, SharedNoise noise) {
  const double whole = noise.multiplier * sensitivity;
  const double deviation = std::sqrt((whole * whole + 16) / (noise.contributors - 1)) * (1 + 1e-12);
  if (!(sensitivity > 0) || !(deviation >= kFewestGrains) || !(deviation <= kMostGrains))
    return fail(bad_input({.field = "algorithm.bits"},
                          "a share of noise must have 2^4 to 2^40 grains: more bits make finer ones, fewer coarser",
                          fmt::format("{}", deviation)));
  return deviation;
}

Result<Released<MaskedVector>> Gate::shared_words(const Sensitive<GridVector, L2>& value, SharedNoise noise,
                                                  DealtMask<std::uint64_t> mask, OthersShares others) {
  PARLEY_CHECK(check(value));
  const GridVector& grid = value.value_;
  if (grid.grain != Grain{0} || mask.purpose_ != Dealt::kProducts || mask.size() != grid.counts.size())
    return fail(failed("a share is of whole numbers, under a mask of shares that is as long"));
  PARLEY_CHECK(check_shares(others, grid.counts.size()));
  PARLEY_TRY(const Event event, shared_event(noise));
  PARLEY_TRY(const double deviation, shared_deviation(value.sensitivity(), noise));
  PARLEY_TRY(const DiscreteGaussianNoise* source, discrete_gaussian_source(deviation, grid.grain));
  PARLEY_CHECK(pay(event, Planned{}));
  return released<MaskedVector>(2 * grid.counts.size(), [&](Bits& bits) -> Result<MaskedVector> {
    MaskedVector made{std::vector<std::int64_t>(grid.counts.size())};
    source->draw(bits, made.words);
    for (std::size_t c = 0; c < made.words.size(); ++c)  // modulo 2^64
      made.words[c] = static_cast<std::int64_t>(static_cast<std::uint64_t>(made.words[c]) +
                                                static_cast<std::uint64_t>(grid.counts[c]) + mask.words_[c]);
    add_shares(others, made.words);
    return made;
  });
}

Result<UnderMask<std::uint64_t>> Gate::share(const Sensitive<GridVector, L2>& value, SharedNoise noise,
                                             DealtMask<std::uint64_t> mask) {
  PARLEY_TRY(const auto words, shared_words(value, noise, std::move(mask), {}));
  const std::vector<std::int64_t>& made = words.value().words;
  return UnderMask<std::uint64_t>(std::vector<std::uint64_t>(made.begin(), made.end()));
}

Result<Released<MaskedVector>> Gate::open_sum(const Sensitive<GridVector, L2>& value, SharedNoise noise,
                                              DealtMask<std::uint64_t> mask, OthersShares others) {
  if (others.size() + 2 != static_cast<std::size_t>(noise.contributors))
    return fail(failed("a sum is opened with the shares of all parties: the dealer knows the masks of fewer"));
  return shared_words(value, noise, std::move(mask), others);
}

Result<Released<MaskedVector>> Gate::open_sum(Private<std::vector<std::uint64_t>> value, DealtMask<std::uint64_t> mask,
                                              OthersShares others) const {
  PARLEY_TRY(const UnderMask<std::uint64_t> own, under(std::move(value), std::move(mask)));
  PARLEY_CHECK(check_shares(others, own.size()));
  MaskedVector sum{std::vector<std::int64_t>(own.words_.begin(), own.words_.end())};
  add_shares(others, sum.words);
  return Released<MaskedVector>(std::move(sum), false);
}

template Result<UnderMask<std::uint32_t>> Gate::under(Private<std::vector<std::uint32_t>>,
                                                      DealtMask<std::uint32_t>) const;
template Result<UnderMask<std::uint64_t>> Gate::under(Private<std::vector<std::uint64_t>>,
                                                      DealtMask<std::uint64_t>) const;
template UnderMask<std::uint32_t> Gate::joined(std::vector<UnderMask<std::uint32_t>>);
template UnderMask<std::uint64_t> Gate::joined(std::vector<UnderMask<std::uint64_t>>);
template std::string Gate::kept(const UnderMask<std::uint32_t>&, int);
template std::string Gate::kept(const UnderMask<std::uint64_t>&, int);
template std::string Gate::digest(const UnderMask<std::uint32_t>&, int);
template std::string Gate::digest(const UnderMask<std::uint64_t>&, int);
template Result<Released<std::string>> Gate::sealed(const UnderMask<std::uint32_t>&, int, std::string_view, PeerSeal&);
template Result<Released<std::string>> Gate::sealed(const UnderMask<std::uint64_t>&, int, std::string_view, PeerSeal&);

}  // namespace parley::privacy
