#include "parley/privacy/sensitivity/odd_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "parley/privacy/ledger/digest.h"

namespace parley::privacy {

namespace {

constexpr int kFine = 30;  // bits of a factor and of a sine in a bracket
constexpr int kPoints = 4096;

Result<void> check(const OddSeries::Shape& shape) {
  const auto require = [](bool holds, const char* field, const char* rule, double value) -> Result<void> {
    if (holds) return {};
    return fail(bad_input({.field = field}, rule, fmt::format("{}", value)));
  };
  PARLEY_CHECK(
      require(shape.period > 0 && std::isfinite(shape.period), "algorithm.period", "must be above 0", shape.period));
  PARLEY_CHECK(require(shape.harmonics >= 1 && shape.harmonics <= 64, "algorithm.harmonics", "must be 1 to 64",
                       shape.harmonics));
  PARLEY_CHECK(require(shape.margin_bits >= 8 && shape.margin_bits <= 22, "algorithm.margin_bits", "must be 8 to 22",
                       shape.margin_bits));
  PARLEY_CHECK(require(shape.coefficient_bits >= 4 && shape.coefficient_bits <= 22, "algorithm.bits",
                       "must give a coefficient 4 to 22 bits", shape.coefficient_bits));
  return require(shape.cosine_bits >= 4 && shape.cosine_bits <= 22, "algorithm.bits", "must give a cosine 4 to 22 bits",
                 shape.cosine_bits);
}

}  // namespace

Result<OddSeries> OddSeries::make(const Shape& shape, const std::function<double(double)>& function) {
  PARLEY_CHECK(check(shape));
  OddSeries made;
  made.shape_ = shape;
  const auto size = std::uint32_t{1} << shape.margin_bits;
  made.mask_ = size - 1;
  made.shift_ = 2 * kFine - shape.coefficient_bits;
  made.half_ = std::int64_t{1} << (made.shift_ - 1);
  // a_h = 8/L times the integral over [0, L/4] of s(m) sin(h w m): the middles of equal parts.
  double rounding = 0;
  const double e = 0.5 + std::ldexp(1.0, shape.coefficient_bits - 28);
  for (int k = 0; k < shape.harmonics; ++k) {
    double sum = 0;
    for (int i = 0; i < kPoints; ++i) {
      const double part = (i + 0.5) / kPoints;  // of L/4
      sum += function(part * shape.period / 4) * std::sin((2 * k + 1) * part * std::numbers::pi / 2);
    }
    const double factor = 2 * sum / kPoints;
    if (!(std::abs(factor) < 2))
      return fail(bad_input({.field = "algorithm.period"}, "makes a series whose factors are too large",
                            fmt::format("{}", shape.period)));
    made.factors_.push_back(std::llround(std::ldexp(factor, kFine)));
    const double exact = std::ldexp(static_cast<double>(made.factors_.back()), -kFine);
    rounding += std::numbers::sqrt2 *
                    (std::ldexp(e, shape.cosine_bits) + 0.5 * std::ldexp(std::abs(exact), shape.coefficient_bits)) +
                e;
  }
  made.fine_.resize(size);
  made.coarse_.resize(size);
  for (std::uint32_t x = 0; x < size; ++x) {
    const double sine = std::sin(2 * std::numbers::pi * x / size);
    made.fine_[x] = static_cast<std::int32_t>(std::lround(std::ldexp(sine, kFine)));
    made.coarse_[x] = static_cast<std::int32_t>(std::lround(std::ldexp(sine, shape.cosine_bits)));
  }
  // The series is odd and symmetric about L/4: a quarter of its values are all of them, but for the tables' last digit.
  double largest = 0;
  for (std::uint32_t x = 0; x <= size / 4; ++x) {
    double sum = 0;
    for (int k = 0; k < shape.harmonics; ++k)
      sum += static_cast<double>(made.factors_[static_cast<std::size_t>(k)] * made.fine_[made.place(k, x)]);
    largest = std::max(largest, std::abs(sum));
  }
  const double whole = std::ldexp(largest, made.fraction_bits() - 2 * kFine) * (1 + 1e-7);
  made.bound_ = static_cast<std::int64_t>(std::ceil(whole + rounding)) + 1;
  std::string tables = fmt::format("{} {} {} {} {}", shape.period, shape.harmonics, shape.margin_bits,
                                   shape.coefficient_bits, shape.cosine_bits);
  for (const std::int64_t factor : made.factors_) tables += fmt::format(" {}", factor);
  tables.append(reinterpret_cast<const char*>(made.fine_.data()), made.fine_.size() * sizeof(std::int32_t));
  tables.append(reinterpret_cast<const char*>(made.coarse_.data()), made.coarse_.size() * sizeof(std::int32_t));
  made.digest_ = digest_of(tables);
  return made;
}

double OddSeries::value(double margin) const {
  double sum = 0;
  for (int k = 0; k < shape_.harmonics; ++k)
    sum += std::ldexp(static_cast<double>(factors_[static_cast<std::size_t>(k)]), -kFine) *
           std::sin((2 * k + 1) * 2 * std::numbers::pi * margin / shape_.period);
  return sum;
}

}  // namespace parley::privacy
