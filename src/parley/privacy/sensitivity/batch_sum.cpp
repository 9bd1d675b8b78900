#include "parley/privacy/sensitivity/batch_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace parley::privacy {

using linalg::Index;

namespace {

constexpr double kRoundUp = 1 + 1e-12;  // more than the rounding of a norm of 2^31 squares

// Digits of the grain below the norm bound C: so fine that sqrt(D) grains are nothing beside C, and so coarse that a sum
// of n contributions is within 1/4 grain of its value in the features' scale.
int grain_bits(std::size_t records) {
  return std::min(26, 50 - static_cast<int>(std::bit_width(records)));
}

}  // namespace

BatchSum::BatchSum(const GridFeatures& features, const BatchSettings& settings)
    : features_(&features),
      plain_(features.matrix().with_column_scale({})),
      settings_(settings),
      classes_(static_cast<std::size_t>(settings.classes)),
      width_(features.columns() + (settings.constant ? 1 : 0)) {}

Result<BatchSum> BatchSum::make(const GridFeatures& features, const BatchSettings& settings) {
  if (settings.classes < 1) return fail(bad_input({.field = "classes"}, "must be at least 1", fmt::format("{}", settings.classes)));
  for (const auto& [field, value] : {std::pair{"norm_bound", settings.norm_bound}, {"derivative_bound", settings.derivative_bound}})
    if (!(value > 1e-200) || !(value < 1e200))
      return fail(bad_input({.field = field}, "must be a finite number above 0", fmt::format("{}", value)));
  BatchSum batch(features, settings);
  for (const double squares : features.matrix().row_squared_norms())
    batch.row_norms_.push_back(std::sqrt(squares + (settings.constant ? 1.0 : 0.0)) * kRoundUp);
  for (std::size_t j = 0; j < batch.width_; ++j) batch.scale_.push_back(j < features.columns() ? features.scale(j) : 1.0);
  batch.step_ = std::ldexp(1.0, std::ilogb(settings.derivative_bound) + 1 - features.derivative_bits());
  PARLEY_TRY(batch.grain_, Grain::below(settings.norm_bound, grain_bits(features.rows())));
  // Per coordinate, one for the rounding and twice 1/4 for the product with the scale.
  const double grains = (batch.grain_.grains(settings.norm_bound) + 1.5 * std::sqrt(static_cast<double>(batch.coordinates()))) * kRoundUp;
  batch.contribution_ = std::ldexp(grains, batch.grain_.exponent);
  batch.sums_.assign(batch.coordinates(), 0.0);
  return batch;
}

Sensitive<SampledVector, L2> BatchSum::sum(const Batch& batch, std::span<const double> derivatives) {
  assert(derivatives.size() == batch.records().size() * classes_);
  std::fill(sums_.begin(), sums_.end(), 0.0);
  const double largest = settings_.derivative_bound;
  for (std::size_t b = 0; b < batch.records().size(); ++b) {
    const auto row = static_cast<Index>(batch.records()[b]);
    const std::span<const double> q = derivatives.subspan(b * classes_, classes_);
    double squares = 0;
    for (const double each : q) squares += each * each;
    const double norm = std::sqrt(squares) * row_norms_[static_cast<std::size_t>(row)] * kRoundUp;
    if (!(norm <= std::numeric_limits<double>::max())) continue;  // fails closed: the record is left out
    const double shrink = norm > settings_.norm_bound ? settings_.norm_bound / norm : 1.0;
    for (std::size_t k = 0; k < classes_; ++k) {
      const double coefficient = std::trunc(std::clamp(shrink * q[k], -largest, largest) / step_) * step_;
      if (coefficient == 0) continue;
      const std::size_t first = k * width_;
      plain_.for_each_in_row_by_kind(row, [&](Index j, double value) { sums_[first + static_cast<std::size_t>(j)] += coefficient * value; });
      if (settings_.constant) sums_[first + width_ - 1] += coefficient;
    }
  }
  SampledVector sampled{{std::vector<std::int64_t>(sums_.size()), grain_}, batch.rate()};
  for (std::size_t c = 0; c < sums_.size(); ++c)
    sampled.sum.counts[c] = static_cast<std::int64_t>(std::floor(grain_.grains(sums_[c] * scale_[c % width_])));
  return {std::move(sampled), contribution_, settings_.neighbours, settings_.unit};
}

}  // namespace parley::privacy
