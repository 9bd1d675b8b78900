#include "parley/privacy/sensitivity/exact_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "parley/core/threads.h"

namespace parley::privacy {

using linalg::Index;

namespace {

constexpr double kExactLimit = 9007199254740992.0;  // 2^53
constexpr std::size_t kRowsPerTask = 1 << 14;
constexpr std::size_t kLine = 64;  // bytes that memory gives at once
// Columns with fewer entries than this are short loops, whose ends a processor cannot foresee: rows are
// quicker.
constexpr double kShortColumn = 64;

}  // namespace

ExactSums::ExactSums(const GridFeatures& features, const SumSettings& settings)
    : features_(&features),
      plain_(features.matrix().with_column_scale({})),
      neighbours_(settings.neighbours),
      unit_(settings.unit),
      classes_(static_cast<std::size_t>(settings.classes)),
      width_(features.columns() + (settings.constant ? 1 : 0)),
      constant_(settings.constant),
      sides_(settings.neighbours == Neighbours::kReplaceOne ? 2 : 1) {}

Result<ExactSums> ExactSums::make(const GridFeatures& features, const SumSettings& settings) {
  PARLEY_CHECK(features.check(settings.neighbours));
  if (settings.classes < 1)
    return fail(bad_input({.field = "classes"}, "must be at least 1", fmt::format("{}", settings.classes)));
  if (!(settings.derivative_bound > 1e-200) || !(settings.derivative_bound < 1e200))
    return fail(bad_input({.field = "derivative_bound"}, "must be a finite number above 0",
                          fmt::format("{}", settings.derivative_bound)));
  ExactSums sums(features, settings);
  const double n = features.records(), most = features.most_records();
  sums.step_ = std::ldexp(1.0, std::ilogb(settings.derivative_bound) + 1 - features.derivative_bits());
  sums.bound_ = std::floor(settings.derivative_bound / sums.step_) * sums.step_;
  double largest = 1;
  for (std::size_t j = 0; j < sums.width_; ++j) {
    const bool ones = j == features.columns();
    const double stored = ones ? 1.0 : features.stored_bound(j);
    const double unit = (ones ? 1.0 : std::abs(features.scale(j))) / n;
    sums.unit_gradient_.push_back((ones ? 1.0 : features.scale(j)) / n);
    sums.reach_.push_back(sums.bound_ * stored * unit);
    sums.inverse_.push_back(1 / (sums.bound_ * stored));
    largest = std::max(largest, ones ? 1.0 : features.steps_in_bound(j));
  }
  // The whole argument rests on this line: no sum of products leaves the exact integers.
  if (!(most * largest * (sums.bound_ / sums.step_) <= kExactLimit))
    return fail(failed("exact sums: this many records leave no room for exact arithmetic"));
  // Two roundings of a number of at most m contributions, before it is rounded to the grain.
  sums.value_sensitivity_ = from_grid(
      static_cast<std::int64_t>(std::ceil(value_grain().grains(sums.sides_ + most * 0x1p-50))), value_grain());
  const auto same = [](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
  };
  sums.alike_ = same(sums.unit_gradient_) && same(sums.reach_);
  sums.derivatives_.assign(features.rows() * sums.classes_, 0.0);
  sums.sums_.assign(sums.width_ * sums.classes_, 0.0);
  sums.is_touched_.assign(sums.sums_.size(), 0);
  sums.touched_.assign(sums.sums_.size() + 1, 0);
  return sums;
}

double ExactSums::clip_and_round(double derivative) const {
  // Adding and taking away 1.5 2^52 steps rounds to the nearest step, without a call and without a branch.
  const double large = 0x1.8p52 * step_;
  const double kept = (std::clamp(derivative, -bound_, bound_) + large) - large;
  return std::abs(derivative) <= std::numeric_limits<double>::max() ? kept : 0.0;  // fails closed: left out
}

void ExactSums::hold(std::span<const double> derivatives) {
  assert(derivatives.size() == derivatives_.size());
  parallel_chunks(derivatives.size(), kRowsPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) derivatives_[i] = clip_and_round(derivatives[i]);
  });
}

void ExactSums::hold_rows(std::span<const Index> rows, std::span<const double> derivatives) {
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t k = 0; k < classes_; ++k)
      derivatives_[static_cast<std::size_t>(rows[r]) * classes_ + k] = clip_and_round(derivatives[r * classes_ + k]);
}

void ExactSums::add_up(std::size_t coordinate) {
  const std::size_t k = coordinate / width_, j = coordinate % width_;
  double& sum = sums_[coordinate];
  if (j < features_->columns() && classes_ == 1) {
    sum = plain_.column_dot(static_cast<Index>(j), derivatives_);
    return;
  }
  sum = 0;
  if (j < features_->columns())
    plain_.for_each_in_column(static_cast<Index>(j), [&](Index i, double value) {
      sum += value * derivatives_[static_cast<std::size_t>(i) * classes_ + k];
    });
  else
    for (std::size_t at = k; at < derivatives_.size(); at += classes_) sum += derivatives_[at];
}

void ExactSums::assign(std::span<const double> derivatives) {
  hold(derivatives);
  add_up_all();
}

void ExactSums::add_up_all() {
  if (classes_ == 1 && !constant_) {
    const bool short_columns = static_cast<double>(plain_.nonzeros()) < kShortColumn * static_cast<double>(width_);
    if (short_columns)
      sum_by_rows();
    else
      plain_.multiply_transposed(derivatives_, sums_);
    return;
  }
  const std::size_t columns = features_->columns();
  std::vector<double> packed(columns * classes_);
  if (classes_ == 1)
    plain_.multiply_transposed(derivatives_, packed);
  else
    plain_.multiply_transposed(derivatives_, static_cast<int>(classes_), packed);
  for (std::size_t k = 0; k < classes_; ++k) {
    std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(k * columns), columns,
                sums_.begin() + static_cast<std::ptrdiff_t>(k * width_));
    if (!constant_) continue;
    double total = 0;
    for (std::size_t at = k; at < derivatives_.size(); at += classes_) total += derivatives_[at];
    sums_[k * width_ + columns] = total;
  }
}

// Sums are exact, so the order of the additions does not matter.
void ExactSums::sum_by_rows() {
  const linalg::RowForm& form = plain_.row_form();
  std::fill(sums_.begin(), sums_.end(), 0.0);
  double* sums = sums_.data();
  for (std::size_t i = 0; i < derivatives_.size(); ++i) {
    const double q = derivatives_[i];
    if (q == 0) continue;
    for (std::size_t k = form.ones_at[i]; k < form.ones_at[i + 1]; ++k) sums[form.ones[k]] += q;
    if (form.values_at[i] == form.values_at[i + 1]) continue;
    linalg::with_values(form.storage, form.values, [&](const auto* values) {
      for (std::size_t k = form.values_at[i]; k < form.values_at[i + 1]; ++k)
        sums[form.columns[k]] += q * static_cast<double>(values[k]);
    });
  }
  for (const linalg::DenseColumn& dense : form.dense)
    sums[dense.column] = plain_.column_dot(dense.column, derivatives_);
}

// sums_[first + j] += change S_row,j
void ExactSums::add_to_row(Index row, std::size_t first, double change) {
  // What is touched for the first time cannot be foreseen: it is written down in any case and counted if it
  // is new.
  double* const sums = sums_.data() + first;
  char* const is_touched = is_touched_.data() + first;
  std::uint32_t* const touched = touched_.data();
  std::size_t count = touched_count_;
  const auto add = [&](std::size_t column, double difference) {
    sums[column] += difference;
    touched[count] = static_cast<std::uint32_t>(first + column);
    count += is_touched[column] == 0 ? 1 : 0;
    is_touched[column] = 1;
  };
  const auto add_entries = [&](const Index* columns, std::size_t begin, std::size_t end, const auto& value) {
    for (std::size_t k = begin; k < std::min(end, begin + kSumsAhead); ++k) __builtin_prefetch(sums + columns[k], 1);
    for (std::size_t k = begin; k < end; ++k) {
      if (k + kSumsAhead < end) __builtin_prefetch(sums + columns[k + kSumsAhead], 1);
      add(static_cast<std::size_t>(columns[k]), change * value(k));
    }
  };
  const linalg::RowForm& form = plain_.row_form();
  const auto at = static_cast<std::size_t>(row);
  add_entries(form.ones, form.ones_at[at], form.ones_at[at + 1], [](std::size_t) { return 1.0; });
  if (form.values_at[at] != form.values_at[at + 1])
    linalg::with_values(form.storage, form.values, [&](const auto* values) {
      add_entries(form.columns, form.values_at[at], form.values_at[at + 1],
                  [values](std::size_t k) { return static_cast<double>(values[k]); });
    });
  for (const linalg::DenseColumn& dense : form.dense) {
    const double value = linalg::value_at(dense.storage, dense.values, at);
    if (value != 0) add(static_cast<std::size_t>(dense.column), change * value);
  }
  if (constant_) add(width_ - 1, change);
  touched_count_ = count;
}

void ExactSums::assign_row(Index row, std::span<const double> derivatives) {
  assert(derivatives.size() == classes_);
  for (std::size_t k = 0; k < classes_; ++k) {
    double& known = derivatives_[static_cast<std::size_t>(row) * classes_ + k];
    const double now = clip_and_round(derivatives[k]);
    const double change = now - known;
    if (change == 0) continue;
    known = now;
    add_to_row(row, k * width_, change);
  }
}

void ExactSums::assign_rows(std::span<const Index> rows, std::span<const double> derivatives) {
  const linalg::RowForm& form = plain_.row_form();
  const auto fetch = [](const void* from, const void* to) {
    for (const auto* line = static_cast<const char*>(from); line < to; line += kLine) __builtin_prefetch(line);
  };
  const std::size_t width = linalg::width(form.storage);
  const auto* values = static_cast<const char*>(form.values);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (r + 1 < rows.size()) {
      const auto next = static_cast<std::size_t>(rows[r + 1]);
      fetch(form.ones + form.ones_at[next], form.ones + form.ones_at[next + 1]);
      fetch(form.columns + form.values_at[next], form.columns + form.values_at[next + 1]);
      fetch(values + form.values_at[next] * width, values + form.values_at[next + 1] * width);
    }
    assign_row(rows[r], derivatives.subspan(r * classes_, classes_));
  }
}

void ExactSums::forget_touched() {
  for (const std::uint32_t coordinate : touched()) is_touched_[coordinate] = 0;
  touched_count_ = 0;
}

std::int64_t ExactSums::contributions(std::size_t coordinate) const {
  const double value = sums_[coordinate] * inverse_[coordinate % width_];
  return static_cast<std::int64_t>(std::floor(value_grain().grains(value)));
}

}  // namespace parley::privacy
