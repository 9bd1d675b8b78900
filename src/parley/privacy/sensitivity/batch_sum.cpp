#include "parley/privacy/sensitivity/batch_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace parley::privacy {

using linalg::Index;

namespace {

constexpr std::size_t kRowsNear = 1000;
constexpr double kRoundUp = 1 + 1e-12;       // more than a few hundred roundings
constexpr double kLeastSquares = 0x1p-1000;  // below, squares may have vanished

// Digits of the grain below the norm bound C: so fine that sqrt(D) grains are nothing beside C, and so coarse that a
// sum of m contributions is within 1/4 grain of its value in the features' scale. Where there is so much noise that it
// would have more than 2^37 grains, the grid is coarser: what a contribution may be counts its grains, whatever their
// size.
int grain_bits(double most_records, double noise_multiplier) {
  const int fine = std::min(26, 50 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most_records))));
  return noise_multiplier > 1 ? std::min(fine, 36 - std::ilogb(noise_multiplier)) : fine;
}

}  // namespace

// Column by column: how other records made the matrix store its columns must not show in the order of a row's sum.
std::vector<double> row_norms_upward(const GridFeatures& features, bool constant) {
  std::vector<double> norms(features.rows(), constant ? 1.0 : 0.0);
  for (std::size_t j = 0; j < features.columns(); ++j)
    features.matrix().for_each_in_column(static_cast<Index>(j),
                                         [&](Index i, double x) { norms[static_cast<std::size_t>(i)] += x * x; });
  const double room = norm_room(features.columns() + (constant ? 1 : 0));
  for (double& norm : norms) norm = std::sqrt(std::max(norm, kLeastSquares)) * room;
  return norms;
}

Batch::Batch(std::vector<std::size_t> records, double rate) : records_(std::move(records)), rate_(rate) {
  static std::atomic<std::uint64_t> made{0};
  serial_ = ++made;
}

BatchSum::BatchSum(const GridFeatures& features, const BatchSettings& settings)
    : features_(&features),
      plain_(features.matrix().with_column_scale({})),
      settings_(settings),
      classes_(static_cast<std::size_t>(settings.classes)),
      width_(features.columns() + (settings.constant ? 1 : 0)) {}

Result<BatchSum> BatchSum::make(const GridFeatures& features, const BatchSettings& settings) {
  PARLEY_CHECK(features.check(settings.neighbours));
  if (settings.classes < 1)
    return fail(bad_input({.field = "classes"}, "must be at least 1", fmt::format("{}", settings.classes)));
  for (const auto& [field, value] :
       {std::pair{"norm_bound", settings.norm_bound}, {"derivative_bound", settings.derivative_bound}})
    if (!(value > 1e-200) || !(value < 1e200))
      return fail(bad_input({.field = field}, "must be a finite number above 0", fmt::format("{}", value)));
  BatchSum batch(features, settings);
  batch.row_norms_ = row_norms_upward(features, settings.constant);
  batch.derivatives_room_ = norm_room(batch.classes_);
  for (std::size_t j = 0; j < batch.width_; ++j)
    batch.scale_.push_back(j < features.columns() ? features.scale(j) : 1.0);
  // A column without entries has sums of 0 under every scale.
  std::optional<double> one;
  bool alike = true;
  for (std::size_t j = 0; j < batch.width_; ++j) {
    if (j < features.columns() && features.matrix().stored_columns()[j].count == 0) continue;
    alike = alike && batch.scale_[j] == one.value_or(batch.scale_[j]);
    one = batch.scale_[j];
  }
  if (alike) batch.one_scale_ = one;
  batch.step_ = std::ldexp(1.0, std::ilogb(settings.derivative_bound) + 1 - features.derivative_bits());
  const int bits = grain_bits(features.most_records(), settings.noise_multiplier);
  if (bits < 1)
    return fail(bad_input({.field = "privacy.epsilon"}, "is so small that the noise has no end in double precision"));
  PARLEY_TRY(batch.grain_, Grain::below(settings.norm_bound, bits));
  batch.per_grain_ = std::ldexp(1.0, -batch.grain_.exponent);
  // Per coordinate, one for the rounding and twice 1/4 for the product with the scale.
  const double grains =
      (batch.grain_.grains(settings.norm_bound) + 1.5 * std::sqrt(static_cast<double>(batch.coordinates()))) * kRoundUp;
  batch.contribution_ = std::ldexp(grains, batch.grain_.exponent);
  batch.sums_.assign(batch.coordinates(), 0.0);
  return batch;
}

BatchSum::Clip BatchSum::clip(std::size_t record, std::span<const double> derivatives) const {
  double size = std::abs(derivatives.front());
  if (derivatives.size() > 1) {
    double squares = 0;
    for (const double each : derivatives) squares += each * each;
    size = std::sqrt(std::max(squares, kLeastSquares));
  }
  const double norm = size * row_norms_[record] * derivatives_room_;
  if (!(norm <= std::numeric_limits<double>::max())) return {};  // fails closed: the record is left out
  if (norm > settings_.norm_bound) return {settings_.norm_bound / norm, false};
  // To the nearest moves each of K coefficients by at most half a step.
  const double moved = 0.5 * step_ * std::sqrt(static_cast<double>(classes_)) * row_norms_[record] * kRoundUp;
  return {1, (norm + moved) * kRoundUp <= settings_.norm_bound};
}

double BatchSum::coefficient(double derivative, const Clip& clip) const {
  if (clip.shrink == 0) return 0;
  const double largest = settings_.derivative_bound;
  const double kept = std::clamp(clip.shrink * derivative, -largest, largest);
  // Adding and taking away 1.5 2^52 steps rounds to the nearest step, without a call.
  const double large = 0x1.8p52 * step_;
  const double size = std::abs(kept);
  const double nearest = (size + large) - large;
  const double rounded = clip.nearest || nearest <= size ? nearest : nearest - step_;
  return std::copysign(rounded, kept);
}

const linalg::RowRuns& BatchSum::rows() {
  if (!rows_) rows_ = std::make_shared<const linalg::RowRuns>(plain_);
  return *rows_;
}

void BatchSum::add_rows(const Batch& batch, std::span<const double> derivatives) {
  const linalg::RowRuns& runs = rows();
  const std::span<const std::size_t> records = batch.records();
  const bool far = records.size() > kRowsNear;  // fewer were read for their margins just before
  for (std::size_t b = 0; b < records.size(); ++b) {
    if (b + kRowsAhead < records.size()) {
      if (far) runs.prefetch(records[b + kRowsAhead]);
      __builtin_prefetch(&row_norms_[records[b + kRowsAhead]]);
    }
    const std::span<const double> q = derivatives.subspan(b * classes_, classes_);
    const Clip clipped = clip(records[b], q);
    for (std::size_t k = 0; k < classes_; ++k) {
      const double added = coefficient(q[k], clipped);
      if (added == 0) continue;
      double* plane = sums_.data() + k * width_;
      runs.for_each(records[b], [&](std::uint32_t j, double value) { plane[j] += added * value; });
      if (settings_.constant) plane[width_ - 1] += added;
    }
  }
}

void BatchSum::add_pass(const Batch& batch, std::span<const double> derivatives) {
  const std::size_t columns = features_->columns();
  spread_.assign(features_->rows() * classes_, 0.0);
  for (std::size_t b = 0; b < batch.records().size(); ++b) {
    const std::size_t record = batch.records()[b];
    const std::span<const double> q = derivatives.subspan(b * classes_, classes_);
    const Clip clipped = clip(record, q);
    for (std::size_t k = 0; k < classes_; ++k) {
      spread_[record * classes_ + k] = coefficient(q[k], clipped);
      if (settings_.constant) sums_[k * width_ + columns] += spread_[record * classes_ + k];
    }
  }
  std::vector<double> packed(columns * classes_);
  plain_.multiply_transposed(spread_, settings_.classes, packed);
  for (std::size_t k = 0; k < classes_; ++k)
    for (std::size_t j = 0; j < columns; ++j) sums_[k * width_ + j] += packed[k * columns + j];
}

Sensitive<SampledVector, L2> BatchSum::sum(Batch&& given, std::span<const double> derivatives) {
  const Batch batch = std::move(given);
  assert(derivatives.size() == batch.records().size() * classes_);
  // Sums are exact, so the two ways give the same bits.
  if (batch.records().size() > features_->rows() / 4)
    add_pass(batch, derivatives);
  else
    add_rows(batch, derivatives);
  SampledVector sampled({std::vector<std::int64_t>(sums_.size()), grain_}, batch.rate());
  for (std::size_t c = 0; c < sums_.size(); ++c) sampled.sum.counts[c] = take_count(c);
  return {std::move(sampled), contribution_, settings_.neighbours, settings_.unit};
}

}  // namespace parley::privacy
