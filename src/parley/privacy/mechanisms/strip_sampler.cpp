#include "parley/privacy/mechanisms/strip_sampler.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

#include "parley/privacy/mechanisms/strip_law.h"

namespace parley::privacy {

namespace {

using Wide = unsigned __int128;

// Positions inside a strip enter the 64-bit acceptance test with this many digits.
constexpr int kFractionBits = 24;
// What those digits leave open, and every rounding of the test, in units of 2^-63: see strip_sampler.md.
constexpr std::uint64_t kUndecided = 1ull << 43;

Fraction two_to(int exponent) {
  Fraction out(1);
  if (exponent >= 0)
    mpq_mul_2exp(out.get_mpq_t(), out.get_mpq_t(), static_cast<mp_bitcnt_t>(exponent));
  else
    mpq_div_2exp(out.get_mpq_t(), out.get_mpq_t(), static_cast<mp_bitcnt_t>(-exponent));
  return out;
}

constexpr unsigned kTableBits = 256;
constexpr std::size_t kBlock = 64;  // draws whose words are taken together

}  // namespace

// f(0), f(M), f(2M), ... until they fall below 2^(32 - bits): rounding up would keep smaller ones alive
// forever.
struct StripWeights {
  std::vector<Enclosure> weights;
  std::vector<Integer> ratios_low;  // of f((j+1)M) / f(jM)
  Enclosure total;
};

namespace {

StripWeights strip_weights(const StripLaw& law, const Fraction& width, bool half_zero, unsigned bits) {
  const Integer one = Integer(1) << bits;
  StripWeights out;
  Enclosure weight{one, one};
  Enclosure ratio = law.ratio(0, width, bits);
  const Enclosure bend = law.bend(width, bits);
  assert(ratio.high < one);
  while ((weight.high >> 32) != 0) {
    out.weights.push_back(weight);
    out.ratios_low.push_back(ratio.low);
    out.total.low += weight.low;
    out.total.high += weight.high;
    weight = multiply(weight, ratio, bits);
    ratio = multiply(ratio, bend, bits);
  }
  if (half_zero) {
    const Integer half = one >> 1;
    out.weights.front() = {half, half};
    out.total.low -= half;
    out.total.high -= half;
  }
  // Ratios never grow, so the rest is at most a geometric series.
  out.total.high += (weight.high << bits) / (one - ratio.high) + 1;
  return out;
}

// Words that decided about noise do not stay in memory, not even when the generator fails in between.
struct Wiped {
  std::span<std::uint64_t> words;
  ~Wiped() { OPENSSL_cleanse(words.data(), words.size_bytes()); }
};

}  // namespace

Enclosure StripLaw::ratio(const Fraction& from, const Fraction& to, unsigned bits) const {
  switch (kind) {
    case Kind::kLinear:
      return exp_minus(parameter * (to - from), bits);
    case Kind::kSquare:
      return exp_minus(parameter * (to * to - from * from), bits);
    case Kind::kGeometric:
      break;
  }
  const Fraction steps = to - from;
  assert(steps.get_den() == 1);
  return power(parameter, steps.get_num(), bits);
}

Enclosure StripLaw::bend(const Fraction& width, unsigned bits) const {
  if (kind == Kind::kSquare) return exp_minus(parameter * width * width * 2, bits);
  return {Integer(1) << bits, Integer(1) << bits};
}

StripSampler::StripSampler(std::shared_ptr<const StripLaw> law, Shape shape)
    : law_(std::move(law)), shape_(shape), square_(law_->kind == StripLaw::Kind::kSquare), exp2_(&FixedExp2::table()) {
  assert(shape_.table_bits >= 1 && shape_.table_bits <= 64);
  assert(shape_.form == Form::kRoundedReal ? shape_.width_exponent >= -40 : shape_.width_exponent >= 0);
  assert(shape_.width_exponent <= 40);
  build_table();
}

// With strips of one whole number the two zeros share their weight, and none is refused.
bool StripSampler::halves_zero() const {
  return shape_.form == Form::kSigned && shape_.width_exponent == 0;
}

void StripSampler::build_table() {
  const Fraction width = two_to(shape_.width_exponent);
  weights_ = std::make_shared<const StripWeights>(strip_weights(*law_, width, halves_zero(), kTableBits));
  const StripWeights& strips = *weights_;

  // Each tabulated strip gets its probability rounded down to a multiple of 2^-table_bits; what is missing
  // from 1 belongs to one more outcome, which strip_exactly() shares out so that every probability becomes
  // exact.
  const Integer all = Integer(1) << 64;
  Integer missing = all;
  for (const Enclosure& weight : strips.weights) {
    const Integer units = (weight.low << shape_.table_bits) / strips.total.high;
    if (units == 0) break;
    const Integer mass = units << (64 - shape_.table_bits);
    masses_.push_back(low_word(mass));
    missing -= mass;
  }
  const std::size_t strip_count = masses_.size();
  for (std::size_t j = 0; j < strip_count; ++j)
    sure_below_.push_back(low_word(strips.ratios_low[j] >> (kTableBits - 63)));

  const unsigned log_columns = std::max(1, static_cast<int>(std::bit_width(strip_count)));
  const std::size_t column_count = std::size_t{1} << log_columns;
  column_shift_ = 64 - log_columns;
  const Wide capacity = Wide{1} << column_shift_;
  std::vector<Wide> left(column_count, 0);
  for (std::size_t j = 0; j < strip_count; ++j) left[j] = masses_[j];
  left[strip_count] = missing == all ? Wide{1} << 64 : Wide{low_word(missing)};
  // Walker's alias table, after Vose, in whole numbers: the masses come out exactly.
  columns_.assign(column_count, {});
  std::vector<std::size_t> poor, rich;
  for (std::size_t c = 0; c < column_count; ++c) (left[c] < capacity ? poor : rich).push_back(c);
  while (!poor.empty()) {
    const std::size_t taker = poor.back();
    const std::size_t giver = rich.back();
    poor.pop_back();
    columns_[taker] = {static_cast<std::uint64_t>(left[taker]), giver};
    left[giver] -= capacity - left[taker];
    if (left[giver] < capacity) {
      rich.pop_back();
      poor.push_back(giver);
    }
  }
  for (const std::size_t full : rich) {
    assert(left[full] == capacity);
    columns_[full] = {static_cast<std::uint64_t>(capacity), full};
  }

  if (shape_.form != Form::kRoundedReal && shape_.width_exponent == 0) return;
  const Integer kappa = minus_log2_below(law_->ratio(0, width, kTableBits), kTableBits, 64);
  // Strips this narrow keep f almost level inside each, which bounds what kFractionBits digits leave open.
  assert(kappa * (square_ ? 2 * strip_count + 2 : 1) < (Integer(8) << 64) && kappa < (Integer(1) << 63));
  kappa_ = low_word(kappa);
}

std::uint64_t StripSampler::strip_exactly(Bits& bits) const {
  const Fraction width = two_to(shape_.width_exponent);
  Integer tabulated = 0;
  for (const std::uint64_t mass : masses_) tabulated += integer(mass);
  const Integer missing = (Integer(1) << 64) - tabulated;
  LazyUniform u;
  std::shared_ptr<const StripWeights> weights = weights_;
  for (unsigned digits = kTableBits - 128;; digits *= 2) {
    if (digits > kTableBits - 128)
      weights = std::make_shared<const StripWeights>(strip_weights(*law_, width, halves_zero(), digits + 128));
    const StripWeights& strips = *weights;
    // The first strip whose cumulative missing mass, sum over i <= j of (2^64 P(i) - mass_i), exceeds u *
    // missing; both sides times the total weight and 2^digits.
    const Integer& position = u.digits(digits, bits);
    const Enclosure want{position * missing * strips.total.low, (position + 1) * missing * strips.total.high};
    Enclosure weight{0, 0};
    Integer mass = 0;
    Integer previous_high = 0;
    for (std::size_t j = 0; j < strips.weights.size(); ++j) {
      weight.low += strips.weights[j].low;
      weight.high += strips.weights[j].high;
      if (j < masses_.size()) mass += integer(masses_[j]);
      const Integer low = ((weight.low << 64) - mass * strips.total.high) << digits;
      const Integer high = ((weight.high << 64) - mass * strips.total.low) << digits;
      if (want.high <= low && want.low >= previous_high) return j;
      if (want.low < high) break;
      previous_high = high;
    }
  }
}

bool StripSampler::accept_exactly(std::uint64_t strip, std::uint64_t position, std::uint64_t chance, Bits& bits) const {
  const LazyUniform u(integer(chance), 63);
  const Fraction width = two_to(shape_.width_exponent);
  const Fraction start = width * Fraction(integer(strip));
  if (shape_.form != Form::kRoundedReal) {
    const Fraction x = start + Fraction(integer(position >> (64 - shape_.width_exponent)));
    return lies_below(
        u, 1, [&](unsigned digits) { return law_->ratio(start, x, digits); }, bits);
  }
  LazyUniform inside(integer(position), 64);
  return lies_below(
      u, 1,
      [&](unsigned digits) {
        const Integer& at = inside.digits(digits, bits);
        const Fraction cell = width * two_to(-static_cast<int>(digits));
        return Enclosure{law_->ratio(start, start + cell * (at + 1), digits).low,
                         law_->ratio(start, start + cell * at, digits).high};
      },
      bits);
}

// One attempt out of three words; false: start anew.
template <StripSampler::Form kForm, bool kSquare>
inline bool StripSampler::attempt(const std::uint64_t* words, Bits& bits, std::int64_t& out) const {
  const int m = shape_.width_exponent;
  const std::size_t strip_count = masses_.size();
  const std::uint64_t word = words[0];
  const std::uint64_t index = word >> column_shift_;
  const Column& column = columns_[index];
  // Either is as likely as the other, so a branch would be a guess.
  const std::uint64_t own = 0 - static_cast<std::uint64_t>((word & ((1ull << column_shift_) - 1)) < column.threshold);
  std::uint64_t strip = (index & own) | (column.alias & ~own);
  if (strip >= strip_count) [[unlikely]]
    strip = strip_exactly(bits);

  std::uint64_t position = words[1];
  if (kForm != Form::kRoundedReal) position &= ~0ull << (64 - m);
  const std::uint64_t last = words[2];
  const std::uint64_t chance = last >> 1;
  const bool negative = kForm != Form::kMagnitude && (last & 1) != 0;

  if (strip >= strip_count) [[unlikely]] {
    if (!accept_exactly(strip, position, chance, bits)) return false;
  } else if (chance >= sure_below_[strip]) {
    const std::uint64_t f = position >> (64 - kFractionBits);
    const std::uint64_t g = kSquare ? f * ((strip << (kFractionBits + 1)) + f) : f;
    constexpr int kShift = 64 + (kSquare ? 2 : 1) * kFractionBits - FixedExp2::kArgumentBits;
    const std::uint64_t level = (*exp2_)(static_cast<std::uint64_t>((Wide{kappa_} * g) >> kShift));
    if (chance >= level + kUndecided) return false;
    if (chance + kUndecided >= level && !accept_exactly(strip, position, chance, bits)) return false;
  }

  std::int64_t magnitude = 0;
  if (kForm == Form::kRoundedReal) {
    const Wide x = (Wide{strip} << 64 | position) >> (63 - m);
    magnitude = static_cast<std::int64_t>((x + 1) >> 1);
  } else {
    magnitude = static_cast<std::int64_t>(strip << m | position >> (64 - m));
    if (kForm == Form::kSigned && negative && magnitude == 0) return false;
  }
  out = negative ? -magnitude : magnitude;
  return true;
}

// Strips of one whole number need neither position nor acceptance.
template <StripSampler::Form kForm>
std::int64_t StripSampler::draw_strip(Bits& bits) const {
  const std::uint64_t word = bits.next_u64();
  const std::uint64_t index = word >> column_shift_;
  const Column& column = columns_[index];
  std::uint64_t strip = (word & ((1ull << column_shift_) - 1)) < column.threshold ? index : column.alias;
  if (strip >= masses_.size()) [[unlikely]]
    strip = strip_exactly(bits);
  if (kForm == Form::kMagnitude) return static_cast<std::int64_t>(strip);
  const bool negative = (bits.next_u64() & 1) != 0;
  return negative ? -static_cast<std::int64_t>(strip) : static_cast<std::int64_t>(strip);
}

// Words are taken for a whole block of first attempts, so that attempts do not wait for each other; what is
// refused is drawn again at the end, from new words. All draws stay independent and follow the same law.
template <StripSampler::Form kForm, bool kSquare>
void StripSampler::draw_blocks(Bits& bits, std::span<std::int64_t> out) const {
  std::array<std::uint64_t, 3 * kBlock> words;
  std::array<std::uint64_t, 3> fresh;
  std::array<std::uint32_t, kBlock> refused;
  const Wiped wiped{std::span(words).first(3 * std::min(out.size(), kBlock))};
  const Wiped wiped_too{fresh};
  while (!out.empty()) {
    const std::size_t count = std::min(out.size(), kBlock);
    bits.fill(std::span(words).first(3 * count));
    std::size_t again = 0;
    for (std::size_t i = 0; i < count; ++i) {
      refused[again] = static_cast<std::uint32_t>(i);
      again += attempt<kForm, kSquare>(&words[3 * i], bits, out[i]) ? 0 : 1;
    }
    for (std::size_t r = 0; r < again; ++r) {
      do {
        for (std::uint64_t& word : fresh) word = bits.next_u64();
      } while (!attempt<kForm, kSquare>(fresh.data(), bits, out[refused[r]]));
    }
    out = out.subspan(count);
  }
}

template <StripSampler::Form kForm>
void StripSampler::draw_all(Bits& bits, std::span<std::int64_t> out) const {
  if (kForm != Form::kRoundedReal && shape_.width_exponent == 0) {
    for (auto& value : out) value = draw_strip<kForm>(bits);
    return;
  }
  if (square_)
    draw_blocks<kForm, true>(bits, out);
  else
    draw_blocks<kForm, false>(bits, out);
}

void StripSampler::draw(Bits& bits, std::span<std::int64_t> out) const {
  switch (shape_.form) {
    case Form::kMagnitude:
      return draw_all<Form::kMagnitude>(bits, out);
    case Form::kSigned:
      return draw_all<Form::kSigned>(bits, out);
    case Form::kRoundedReal:
      return draw_all<Form::kRoundedReal>(bits, out);
  }
}

std::int64_t StripSampler::draw(Bits& bits) const {
  std::int64_t value = 0;
  draw(bits, {&value, 1});
  return value;
}

}  // namespace parley::privacy
