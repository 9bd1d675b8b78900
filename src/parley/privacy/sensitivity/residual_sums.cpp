#include "parley/privacy/sensitivity/residual_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/linalg/gram.h"

namespace parley::privacy {

using linalg::Index;

namespace {

constexpr double kExactLimit = 9007199254740992.0;  // 2^53
constexpr double kRoundingRoom = 1 + 1.0 / 65536;
constexpr double kMostRoundings = 0x1p33;  // steps times records over the relation's sides
constexpr double kMostPenalties = 0x1p32;  // steps times l2 r, in sensitivities
constexpr std::size_t kAhead = 16;         // coordinates lie anywhere: memory is asked for this many ahead of use

double largest_bound(const GridFeatures& features) {
  double largest = 0;
  for (std::size_t j = 0; j < features.columns(); ++j) largest = std::max(largest, features.bound(j));
  return largest;
}

}  // namespace

double ResidualSums::residual_bound(const GridFeatures& features, const ResidualSettings& settings) {
  return settings.radius * largest_bound(features) + settings.label_bound;
}

Result<ResidualSums> ResidualSums::make(const GridFeatures& features, std::span<const double> labels,
                                        const ResidualSettings& settings) {
  PARLEY_CHECK(features.check(settings.neighbours));
  for (const auto& [field, value] : {std::pair{"radius", settings.radius}, {"label_bound", settings.label_bound}})
    if (!(value > 0) || !std::isfinite(value))
      return fail(bad_input({.field = field}, "must be a finite number above 0", fmt::format("{}", value)));
  if (labels.size() != features.rows())
    return fail(bad_input({.field = "labels"}, "needs one label per row", fmt::format("{}", labels.size())));
  ResidualSums sums(features);
  const double n = features.records(), most_records = features.most_records();
  const std::size_t d = features.columns();
  double most_steps = 1;
  for (std::size_t j = 0; j < d; ++j) {
    most_steps = std::max(most_steps, features.steps_in_bound(j));
    sums.unit_scale_.push_back(features.scale(j));
  }
  // A label has as many binary digits as a derivative; sums of squares of features must be exact too.
  const double grain = std::ldexp(1.0, std::ilogb(settings.label_bound) + 1 - features.derivative_bits());
  const double most = std::floor(settings.label_bound / grain);
  if (!(most_records * most_steps * most_steps <= kExactLimit) || !(most_records * most_steps * most <= kExactLimit))
    return fail(failed("residual sums: this many records leave no room for exact arithmetic"));
  const double bound = residual_bound(features, settings);
  const double sides = settings.neighbours == Neighbours::kReplaceOne ? 2 : 1;
  const double moves = sides * bound * largest_bound(features) / n;  // D
  const auto steps = static_cast<double>(settings.steps);
  if (!(most_records * steps / sides <= kMostRoundings) ||
      !(settings.l2 * settings.radius * steps <= kMostPenalties * moves))
    return fail(failed("residual sums: this many records and steps, or this l2, leave no room for rounding"));
  std::vector<double> held(labels.size());
  std::transform(labels.begin(), labels.end(), held.begin(), [&](double y) {
    return std::isfinite(y) ? std::clamp(std::nearbyint(y / grain), -most, most) * grain : 0.0;
  });
  sums.neighbours_ = settings.neighbours;
  sums.unit_ = settings.unit;
  sums.sensitivity_ = moves * kRoundingRoom;
  sums.l2_ = settings.l2;
  sums.cache_left_ = settings.cache_bytes;
  sums.gram_.assign(d, 0.0);
  sums.cached_.resize(d);
  std::vector<double> offsets(d);
  sums.plain_.multiply_transposed(held, offsets);
  for (std::size_t j = 0; j < d; ++j) {
    sums.lines_.push_back({0.0, offsets[j] * (sums.unit_scale_[j] / n)});
    // A column without entries has b = 0 and, without l2, a = 0 for ever.
    if (settings.l2 != 0 || sums.plain_.column(static_cast<Index>(j)).count > 0)
      sums.live_.push_back(static_cast<std::uint32_t>(j));
  }
  return sums;
}

void ResidualSums::fold(double factor) {
  for (Line& line : lines_) line.slope *= factor;
}

void ResidualSums::add_gram(std::span<const double> gram, double factor) {
  for (std::size_t c = 0; c < gram.size(); ++c) lines_[c].slope += gram[c] * (factor * unit_scale_[c]);
}

void ResidualSums::add(std::size_t column, double amount) {
  const auto j = static_cast<Index>(column);
  const double factor = amount * unit_scale_[column] / features_->records();
  touched_count_ = 0;
  // Which way is cheaper; both give the same bits.
  const double in_a_row = static_cast<double>(plain_.nonzeros()) / static_cast<double>(features_->rows());
  const double pushed = static_cast<double>(plain_.column(j).count) * in_a_row;
  all_touched_ = pushed > 0.5 * static_cast<double>(coordinates());
  if (all_touched_) {
    std::vector<double>& kept = cached_[column];
    if (!kept.empty()) {
      add_gram(kept, factor);
    } else {
      std::vector<double>& target = cache_left_ >= gram_.size() * sizeof(double) ? kept : gram_;
      if (&target == &kept) cache_left_ -= gram_.size() * sizeof(double);
      target.resize(gram_.size());
      linalg::gram_column(plain_, j, target);
      add_gram(target, factor);
      std::fill(gram_.begin(), gram_.end(), 0.0);
    }
  } else {
    // The Gram column first, in whole numbers; then one rounding per touched coordinate.
    // Which coordinates are new cannot be foreseen: each is written down in any case and counted if it is.
    const std::size_t in_a_row_at_most = coordinates() + 1;
    std::size_t count = 0;
    plain_.for_each_in_column(j, [&](Index i, double here) {
      if (touched_.size() < count + in_a_row_at_most) touched_.resize(count + 2 * in_a_row_at_most);
      std::uint32_t* const listed = touched_.data();
      double* const gram = gram_.data();
      std::size_t at = count;
      plain_.for_each_in_row_by_kind(i, [&, here](Index c, double there) {
        double& sum = gram[c];
        listed[at] = static_cast<std::uint32_t>(c);
        at += sum == 0 ? 1 : 0;
        sum += here * there;
      });
      count = at;
    });
    for (std::size_t t = 0; t < count; ++t) {
      const std::uint32_t c = touched_[t];
      if (t + kAhead < count) __builtin_prefetch(&lines_[touched_[t + kAhead]], 1);
      lines_[c].slope += gram_[c] * (factor * unit_scale_[c]);
      gram_[c] = 0;  // a sum that came back to 0 is listed twice; the second time adds nothing
    }
    if (l2_ != 0) {
      if (touched_.size() == count) touched_.resize(count + 1);
      touched_[count++] = static_cast<std::uint32_t>(column);
    }
    touched_count_ = count;
  }
  lines_[column].slope += l2_ * amount;
}

double ResidualSums::ceiling_of(std::size_t c, double low, double high) const {
  return std::max(std::abs(descent(c, low)), std::abs(descent(c, high)));
}

Sensitive<ScoreList, Linf> ResidualSums::ceilings(double low, double high) {
  const std::span<double> ceilings = ceilings_.write(coordinates());
  for (std::size_t c = 0; c < ceilings.size(); ++c) ceilings[c] = ceiling_of(c, low, high);
  return {ceilings_.list(), sensitivity_, neighbours_, unit_};
}

Sensitive<ScoreList, Linf> ResidualSums::ceilings_of(std::span<const std::uint32_t> coordinates, double low,
                                                     double high) {
  const std::span<double> ceilings = ceilings_.write(coordinates.size());
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    if (i + kAhead < coordinates.size()) __builtin_prefetch(&lines_[coordinates[i + kAhead]]);
    ceilings[i] = ceiling_of(coordinates[i], low, high);
  }
  return {ceilings_.list(), sensitivity_, neighbours_, unit_};
}

}  // namespace parley::privacy
