#include "parley/privacy/sensitivity/grid_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace parley::privacy {

using linalg::Index;
using linalg::Matrix;

namespace {

constexpr int kExactBits = 53;
constexpr int kMostFeatureBits = 24;   // a float32
constexpr int kShortFeatureBits = 15;  // an int16
constexpr int kMostDerivativeBits = 30;
constexpr double kNearlyAll = 0.9;

// Digits of a feature when m records leave `room` for a feature and a derivative: half of it, or what a short integer
// holds when that is about as much.
int feature_bits(int room) {
  const int half = room / 2;
  return half > kShortFeatureBits + 2 ? std::min(half, kMostFeatureBits) : std::min(half, kShortFeatureBits);
}

// The smallest k with value <= 2^k.
int ceil_log2(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // value = fraction 2^exponent, fraction in [1/2, 1)
  return fraction == 0.5 ? exponent - 1 : exponent;
}

struct ColumnGrid {
  double step = 1;   // 2^e
  double bound = 0;  // the largest multiple of the step within the public bound

  [[nodiscard]] double clip_and_round(double value) const {
    if (!std::isfinite(value)) return 0;  // fails closed
    return std::clamp(std::nearbyint(value / step) * step, -bound, bound);
  }
};

}  // namespace

Result<void> GridFeatures::check(Neighbours neighbours) const {
  if (neighbours == Neighbours::kReplaceOne || count_is_stated_) return {};
  return fail(
      bad_input({.field = "privacy.records"}, "add-remove hides the number of records: a public one must be stated"));
}

Result<GridFeatures> GridFeatures::make(const Matrix& features, std::span<const double> bounds,
                                        std::optional<std::size_t> stated) {
  const auto columns = static_cast<std::size_t>(features.cols());
  if (features.rows() < 1) return fail(bad_input({.field = "features"}, "needs at least one record"));
  if (bounds.size() != columns)
    return fail(bad_input({.field = "bounds"}, fmt::format("must be one per column ({})", columns),
                          fmt::format("{}", bounds.size())));
  const auto rows = static_cast<std::size_t>(features.rows());
  if (stated && (*stated < 1 || *stated > kMostStated))
    return fail(bad_input({.field = "privacy.records"}, fmt::format("must lie between 1 and {}", kMostStated),
                          fmt::format("{}", *stated)));
  if (stated && rows > kMarginOfCount * *stated)
    return fail(bad_input({.field = "privacy.records"},
                          "is less than a quarter of the table's records; state about how many there are",
                          fmt::format("{}", *stated)));
  GridFeatures grid(features);
  grid.count_is_stated_ = stated.has_value();
  grid.records_ = static_cast<double>(stated.value_or(rows));
  const std::size_t most = stated ? kMarginOfCount * *stated : rows;
  grid.most_records_ = static_cast<double>(most);
  const int room = kExactBits - std::bit_width(most);
  const int bits = feature_bits(room);
  grid.derivative_bits_ = std::min(room - bits, kMostDerivativeBits);

  std::vector<ColumnGrid> grids(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    const double scale = grid.scale(j);
    // 1 / (1/B) may end a hair below B; the grid's own multiple then decides.
    const double stored = bounds[j] / std::abs(scale) * (1 + 1e-14);
    if (!(bounds[j] > 0) || !std::isfinite(bounds[j]) || !(stored > 1e-270) || !(stored < 1e270))
      return fail(bad_input({.field = "bound"},
                            fmt::format("column {} needs a public bound, a finite number above 0", j + 1),
                            fmt::format("{}", bounds[j])));
    grids[j].step = std::ldexp(1.0, ceil_log2(stored * (1 - 2e-14)) - bits);
    grid.steps_.push_back(std::floor(stored / grids[j].step));
    grids[j].bound = grid.steps_.back() * grids[j].step;
  }

  // What is on the grid already stays as it is stored. A column that has to be rounded becomes whole numbers of steps.
  const Matrix plain = features.with_column_scale({});
  std::vector<char> whole(columns, 1);
  bool changed = false;
  for (std::size_t j = 0; j < columns; ++j) {
    const linalg::ColumnView view = plain.column(static_cast<Index>(j));
    if (view.storage == linalg::Storage::kBinary && grids[j].bound >= 1 && grids[j].step <= 1) continue;
    bool moved = false;
    plain.for_each_in_column(static_cast<Index>(j), [&](Index, double value) {
      const double rounded = grids[j].clip_and_round(value);
      moved = moved || rounded != value;
      if (rounded != std::trunc(rounded)) whole[j] = 0;
      if (!(std::abs(value) <= grids[j].bound + 0.5 * grids[j].step)) ++grid.clipped_;
    });
    if (!moved) whole[j] = 1;
    changed = changed || moved;
  }
  // Where nearly all columns become whole numbers of steps the few others do too: the same features, and one
  // scale for all of them is quicker to work with.
  const auto filled = std::count_if(plain.stored_columns().begin(), plain.stored_columns().end(),
                                    [](const linalg::StoredColumn& column) { return column.count > 0; });
  if (static_cast<double>(std::count(whole.begin(), whole.end(), 0)) >= kNearlyAll * static_cast<double>(filled))
    std::fill(whole.begin(), whole.end(), 0);
  std::vector<double> scale(features.column_scale().begin(), features.column_scale().end());
  if (changed) {
    Matrix rounded = plain.with_stored_values([&](Index, Index j, double value) {
      const auto at = static_cast<std::size_t>(j);
      const double kept = grids[at].clip_and_round(value);
      return whole[at] != 0 ? kept : kept / grids[at].step;
    });
    if (scale.empty()) scale.assign(columns, 1.0);
    for (std::size_t j = 0; j < columns; ++j) {
      if (whole[j] != 0) continue;
      scale[j] *= grids[j].step;  // a power of two: the features stay the same numbers
      grids[j].bound /= grids[j].step;
    }
    grid.matrix_ = rounded.with_column_scale(std::move(scale));
  }
  for (const ColumnGrid& column : grids) grid.stored_bound_.push_back(column.bound);
  return grid;
}

void GridFeatures::exact_weights(std::span<const double> weights, std::span<double> out) const {
  double largest = 0;  // M: no margin is larger
  for (std::size_t j = 0; j < weights.size(); ++j) {
    out[j] = weights[j] * scale(j);
    largest += stored_bound_[j] * std::abs(out[j]);
  }
  if (!(largest > 0x1p-900) || !std::isfinite(largest)) {
    // Nothing to add up; or nothing that is a number, and every record's derivative is left out.
    std::fill(out.begin(), out.end(), largest <= 0x1p-900 ? 0.0 : std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const double unit = std::ldexp(1.0, std::ilogb(largest) + 1 - (kExactBits - 1));  // M <= 2^52 units
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double grain = unit * (steps_[j] / stored_bound_[j]);  // unit / 2^e_j
    out[j] = std::nearbyint(out[j] / grain) * grain;
  }
}

}  // namespace parley::privacy
