#include "parley/algorithms/vertical/masked_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "parley/algorithms/parts/check.h"

namespace parley::algorithms {

namespace {

// Noise beyond so many deviations has a probability below 1e-30: it would wrap, which spoils a step and tells nothing.
constexpr double kNoiseReach = 12;
constexpr double kOpenReach = 16;  // of a party's part of a margin, in the largest label; nothing is clipped closer
constexpr int kRings[] = {32, 40, 48, 56, 64};

double sigmoid(double margin) {
  return 0.5 * std::tanh(margin / 2);
}

}  // namespace

MaskedSettings MaskedSettings::read(Toml& settings) {
  MaskedSettings read;
  settings.integer("iterations", read.iterations, at_least(1));
  settings.number("clip", read.clip, above(0));
  settings.numbers("row_squares", read.row_squares);
  settings.number("period", read.period, above(0));
  settings.integer("harmonics", read.harmonics, at_least(1));
  settings.integer("margin_bits", read.margin_bits, at_least(8));
  settings.integer("feature_bits", read.feature_bits, at_least(0));
  settings.integer("bits", read.bits, at_least(8));
  settings.number("label_share", read.label_share, above(0));
  settings.number("damping", read.damping, at_least(0));
  settings.number("tolerance", read.tolerance, at_least(0));
  return read;
}

std::int64_t default_steps(const privacy::Target& target, double records) {
  const auto noise = privacy::gaussian_noise(target, 1);
  if (!noise) return 1;
  return static_cast<std::int64_t>(std::clamp(std::ceil(std::sqrt(1.36 * records / *noise)), 10.0, 400.0));
}

int feature_bits_of(const MaskedSettings& settings, bool is_private) {
  return settings.feature_bits >= 0 ? settings.feature_bits : is_private ? 8 : 16;
}

// Bounds come through column scales, whose rounding is taken off.
MaskedRows masked_rows(const MaskedSettings& settings, bool is_private, const MaskedBounds& bounds) {
  const double row_norm = bounds.row_norm;
  MaskedRows rows{.bits = feature_bits_of(settings, is_private), .constant = bounds.constant};
  rows.row_bound = rows.largest = std::max(row_norm, 0x1p-7) * (1 + 1e-9);
  if (!is_private) return rows;
  double widest = 0;
  for (const double bound : bounds.columns) widest = std::max(widest, bound);
  widest = static_cast<double>(static_cast<float>(widest));
  const auto party = static_cast<std::size_t>(bounds.party);
  const double squares = settings.row_squares.empty() ? std::max(widest * widest, settings.clip * row_norm * row_norm)
                                                      : settings.row_squares[party];
  rows.row_bound = std::sqrt(std::min(squares, row_norm * row_norm));
  rows.largest = std::min(widest, rows.row_bound);
  return rows;
}

Result<MaskedShape> MaskedRows::shape(std::size_t columns) const {
  PARLEY_TRY(
      const std::int64_t squares,
      privacy::WholeColumns::squares({.bits = bits, .row_bound = row_bound, .bounds = {}, .constant = constant}));
  return MaskedShape{
      .columns = static_cast<std::int64_t>(columns) + (constant ? 1 : 0),
      .squares = squares,
      .largest = static_cast<std::int64_t>(std::ceil(std::ldexp(std::max(largest, constant ? 1.0 : 0.0), bits)))};
}

// Gaussian releases compose by the sum of 1 / multiplier^2, of which labels get their share.
Result<std::vector<double>> masked_noise(const MaskedSettings& settings, const privacy::Target& target,
                                         std::int64_t steps) {
  PARLEY_TRY(const double whole, privacy::gaussian_noise(target, 1));
  const double of_step = std::sqrt(static_cast<double>(steps) / (1 - settings.label_share));
  return std::vector<double>{whole / std::sqrt(settings.label_share) * (1 + 1e-9), whole * of_step * (1 + 1e-9)};
}

double MaskedNumbers::unit() const {
  return std::ldexp(1 / static_cast<double>(records), -feature_bits - fraction_bits);
}

double MaskedNumbers::squares() const {
  return std::ldexp(labels.squares, -2 * feature_bits);
}

std::string MaskedNumbers::text() const {
  std::string text = fmt::format("{} {} {} {} {} {} {}", records, feature_bits, margin_bits, ring_bits, labels.factor,
                                 gradient.factor, series ? series->digest() : std::string("direct"));
  for (const MaskedShape& shape : shapes)
    text += fmt::format(" {},{},{},{}", shape.columns, shape.squares, shape.largest, shape.label_bound);
  return text;
}

Result<void> MaskedNumbers::make_series(const MaskedSettings& settings, const RunTerms& terms, int bits) {
  const int harmonics = settings.harmonics > 0 ? settings.harmonics : terms.is_private ? 5 : 32;
  margins = {.period = settings.period > 0 ? settings.period
                       : terms.is_private  ? 40.0
                                           : 100.0,
             .bits = margin_bits,
             .parties = terms.parties};
  PARLEY_TRY(privacy::OddSeries made, privacy::OddSeries::make({.period = margins.period,
                                                                .harmonics = harmonics,
                                                                .margin_bits = margin_bits,
                                                                .coefficient_bits = bits / 2 + 1,
                                                                .cosine_bits = bits - bits / 2 - 1},
                                                               &sigmoid));
  fraction_bits = made.fraction_bits();
  gradient.factor = static_cast<double>(made.bound());
  labels.factor = std::ldexp(0.5, fraction_bits);
  series = std::make_shared<const privacy::OddSeries>(std::move(made));
  return {};
}

// r is the sum of the parties' margins, each held to a bound: that of the labels where noise goes by it.
Result<void> MaskedNumbers::take_margins_as_they_are(const RunTerms& terms, int bits) {
  double bound = 0;
  for (const MaskedShape& shape : shapes) bound = std::max(bound, shape.label_bound);
  if (!(bound > 0)) bound = 1;  // labels that are all zero
  const double reach = terms.is_private ? bound : kOpenReach * bound;
  fraction_bits = bits - static_cast<int>(std::ceil(std::log2(reach * terms.parties)));
  most_margin = static_cast<std::int64_t>(std::floor(std::ldexp(reach, fraction_bits)));
  gradient.factor = static_cast<double>(most_margin) * terms.parties;
  labels.factor = std::floor(std::ldexp(bound, fraction_bits));
  return {};
}

Result<MaskedNumbers> MaskedNumbers::make(const MaskedSettings& settings, const RunTerms& terms,
                                          std::vector<MaskedShape> shapes, std::size_t records,
                                          const std::vector<double>& noise) {
  MaskedNumbers made;
  made.records = records;
  double largest = 0;
  for (const MaskedShape& shape : shapes) {
    if (shape.columns < 1 || shape.columns > (1 << 28) || shape.squares < 1 || shape.largest < 1)
      return fail(bad_input({.field = "task"}, "holds a party without columns, or without a bound of its rows"));
    made.first.push_back(made.columns);
    made.columns += static_cast<std::size_t>(shape.columns);
    made.labels.squares += static_cast<double>(shape.squares);
    largest = std::max(largest, static_cast<double>(shape.largest));
  }
  made.shapes = std::move(shapes);
  made.feature_bits = feature_bits_of(settings, terms.is_private);
  made.margin_bits = settings.margin_bits > 0 ? settings.margin_bits : terms.is_private ? 16 : 20;
  // n |x| is what a sum may have; the rest is for the factors.
  const double most = static_cast<double>(records) * largest;
  const int room = 61 - static_cast<int>(std::ceil(std::log2(most)));
  const int bits = settings.bits > 0 ? settings.bits : terms.is_private ? 16 : std::clamp(room, 8, 34);
  made.gradient = made.labels;
  if (terms.objective.task == glm::Task::kLinear) {
    PARLEY_CHECK(made.take_margins_as_they_are(terms, bits));
  } else {
    PARLEY_CHECK(made.make_series(settings, terms, bits));
  }
  double reach = most * std::max(made.gradient.factor, made.labels.factor);
  if (!noise.empty()) {
    const double of_noise = std::max(noise[0] * made.labels.sensitivity(), noise[1] * made.gradient.sensitivity());
    // Whether it can be drawn, before anything is charged.
    PARLEY_CHECK(privacy::Gate::shared_deviation(made.labels.sensitivity(), {noise[0], terms.parties + 1}));
    PARLEY_CHECK(privacy::Gate::shared_deviation(made.gradient.sensitivity(), {noise[1], terms.parties + 1}));
    reach += kNoiseReach * of_noise * std::sqrt(1 + 1.0 / terms.parties);
  }
  made.ring_bits = 0;
  for (const int ring : kRings)
    if (made.ring_bits == 0 && reach < std::ldexp(1.0, ring - 1)) made.ring_bits = ring;
  if (made.ring_bits == 0)
    return fail(bad_input({.field = "algorithm.bits"},
                          "sums of this many records would overflow 64 bits; fewer bits or feature_bits",
                          fmt::format("{}", bits)));
  return made;
}

}  // namespace parley::algorithms
