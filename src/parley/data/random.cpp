#include "parley/data/random.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <unordered_set>

namespace parley::data {

namespace {

// ln 2 in two parts: kLn2High * e is exact for the exponents of doubles.
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;

// 2 atanh(s) = 2 (s + s^3/3 + s^5/5 + ...); |s| <= 3 - 2 sqrt 2, so the first term left out is below 2^-57 of
// the sum.
double twice_atanh(double s) {
  const double q = s * s;
  double sum = 1.0 / 23.0;
  for (int k = 21; k >= 3; k -= 2) sum = sum * q + 1.0 / k;
  return 2.0 * s + 2.0 * s * (q * sum);
}

std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

double portable_log(double x) {
  assert(x >= std::numeric_limits<double>::min());
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  const double fraction = twice_atanh((mantissa - 1.0) / (mantissa + 1.0));
  return exponent * kLn2High + (fraction + exponent * kLn2Low);
}

double portable_log1p(double x) {
  if (x > -0.25 && x < 0.25) return twice_atanh(x / (2.0 + x));
  return portable_log(1.0 + x);
}

double portable_exp(double x) {
  if (x > 709.0) return std::numeric_limits<double>::infinity();
  if (!(x > -708.0)) return 0.0;
  const double halves = std::floor(x * 1.4426950408889634 + 0.5);
  const double r = (x - halves * kLn2High) - halves * kLn2Low;  // |r| <= 0.35
  double sum = 1.0;
  for (int k = 14; k >= 1; --k) sum = 1.0 + sum * r / k;
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(halves) + 1023);
  return sum * std::bit_cast<double>(exponent << 52);
}

Random::Random(std::uint64_t seed, std::uint64_t purpose, std::uint64_t number) {
  // Each word is mixed before the next is added, so that (1, 2) and (2, 1) are different streams.
  std::uint64_t mix = seed;
  mix = split_mix(mix) + purpose;
  mix = split_mix(mix) + number;
  for (auto& word : state_) word = split_mix(mix);
}

std::uint64_t Random::bits() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() {
  return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52;
}

std::uint64_t Random::below(std::uint64_t end) {
  assert(end > 0);
  // Values past the last whole multiple of `end` are drawn again.
  const std::uint64_t excess = (0 - end) % end;
  for (;;) {
    const std::uint64_t draw = bits();
    if (draw <= std::numeric_limits<std::uint64_t>::max() - excess) return draw % end;
  }
}

double Random::normal() {
  if (spare_normal_) {
    const double spare = *spare_normal_;
    spare_normal_.reset();
    return spare;
  }
  for (;;) {
    const double u = 2.0 * uniform() - 1.0;
    const double v = 2.0 * uniform() - 1.0;
    const double square = u * u + v * v;
    if (square >= 1.0 || square == 0.0) continue;
    const double factor = std::sqrt(-2.0 * portable_log(square) / square);
    spare_normal_ = v * factor;
    return u * factor;
  }
}

double Random::log_gamma_variate(double shape) {
  assert(shape > 0);
  // Gamma(a) = Gamma(a + 1) U^(1/a): by logarithms nothing underflows.
  double boost = 0;
  if (shape < 1.0) {
    boost = portable_log(uniform()) / shape;
    shape += 1.0;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = normal();
    const double t = 1.0 + c * x;
    if (t <= 0) continue;
    const double v = t * t * t;
    if (portable_log(uniform()) < 0.5 * x * x + d - d * v + d * portable_log(v)) return portable_log(d * v) + boost;
  }
}

Successes::Successes(double probability, std::uint64_t trials)
    : trials_(probability > 0 ? trials : 0),
      inverse_log_failure_(probability > 0 && probability < 1 ? 1.0 / portable_log1p(-probability) : 0) {
  assert(probability >= 0 && probability <= 1);
}

std::uint64_t Successes::gap(Random& random) const {
  if (inverse_log_failure_ == 0) return 0;
  const double failures = portable_log(random.uniform()) * inverse_log_failure_;
  // A gap past the end ends the walk, however long it is.
  return failures < static_cast<double>(trials_) ? static_cast<std::uint64_t>(failures) : trials_;
}

std::vector<std::uint64_t> distinct_numbers(Random& random, std::uint64_t count, std::uint64_t end) {
  assert(count <= end);
  std::unordered_set<std::uint64_t> chosen;
  std::vector<std::uint64_t> numbers;
  numbers.reserve(count);
  for (std::uint64_t top = end - count; top < end; ++top) {
    const std::uint64_t draw = random.below(top + 1);
    const std::uint64_t number = chosen.insert(draw).second ? draw : top;
    if (number == top) chosen.insert(top);
    numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void shuffle(Random& random, std::span<std::uint32_t> items) {
  for (std::size_t last = items.size(); last > 1; --last) std::swap(items[last - 1], items[random.below(last)]);
}

std::vector<double> dirichlet(Random& random, double alpha, std::size_t parts) {
  std::vector<double> share(parts);
  for (double& s : share) s = random.log_gamma_variate(alpha);
  const double largest = *std::max_element(share.begin(), share.end());
  double sum = 0;
  for (double& s : share) sum += s = portable_exp(s - largest);
  for (double& s : share) s /= sum;
  return share;
}

}  // namespace parley::data
