#include "parley/privacy/sensitivity/whole_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/privacy/sensitivity/grid_features.h"

namespace parley::privacy {

namespace {

constexpr int kMostBits = 24;  // of a feature's fraction
constexpr double kMostInteger = 0x1p30;

}  // namespace

double JointSum::sensitivity() const {
  return 2 * factor * std::sqrt(squares) * (1 + 1e-15);
}

Result<std::int64_t> WholeColumns::squares(const Rule& rule) {
  if (rule.bits < 0 || rule.bits > kMostBits)
    return fail(bad_input({.field = "algorithm.feature_bits"}, "must be 0 to 24", fmt::format("{}", rule.bits)));
  // What the root of a whole number loses is given back: this number itself is what is enforced and charged for.
  const double of_columns = std::floor(std::ldexp(rule.row_bound * rule.row_bound, 2 * rule.bits) * (1 + 1e-9));
  if (!(of_columns >= 1) || !(std::ldexp(rule.row_bound, rule.bits) <= kMostInteger))
    return fail(bad_input({.field = "data"}, "holds rows whose bound is 0, or too large for whole numbers; scale them",
                          fmt::format("{}", rule.row_bound)));
  return static_cast<std::int64_t>(of_columns) + (rule.constant ? std::int64_t{1} << (2 * rule.bits) : 0);
}

Result<WholeColumns> WholeColumns::make(const linalg::Matrix& features, const Rule& rule) {
  PARLEY_TRY(const std::int64_t all_squares, squares(rule));
  const std::int64_t most = all_squares - (rule.constant ? std::int64_t{1} << (2 * rule.bits) : 0);
  const auto held = [&](linalg::Index j, double value) {
    if (!std::isfinite(value)) return 0.0;
    if (rule.bounds.empty()) return value;
    const double bound = rule.bounds[static_cast<std::size_t>(j)];
    return std::clamp(value, -bound, bound);
  };
  const auto n = static_cast<std::size_t>(features.rows());
  std::vector<double> norms(n);
  for (linalg::Index j = 0; j < features.cols(); ++j)
    features.for_each_in_column(j, [&](linalg::Index i, double value) {
      norms[static_cast<std::size_t>(i)] += held(j, value) * held(j, value);
    });
  // 1 where the row is short enough; a little less than needed where it is not, so that rounding keeps within.
  const double room = norm_room(static_cast<std::size_t>(features.cols()));
  WholeColumns made;
  for (double& norm : norms) {
    norm = std::sqrt(norm);
    made.shortened_ += norm > rule.row_bound ? 1 : 0;
    norm = norm > rule.row_bound ? rule.row_bound / (norm * room) : 1;
  }
  made.rows_ = n;
  made.bits_ = rule.bits;
  made.columns_.resize(static_cast<std::size_t>(features.cols()));
  std::vector<std::int64_t> sums(n);
  for (linalg::Index j = 0; j < features.cols(); ++j) {
    Column& column = made.columns_[static_cast<std::size_t>(j)];
    features.for_each_in_column(j, [&](linalg::Index i, double value) {
      const auto row = static_cast<std::size_t>(i);
      const double scaled = std::trunc(std::ldexp(held(j, value) * norms[row], rule.bits));
      if (scaled == 0) return;
      const auto whole = static_cast<std::int32_t>(std::clamp(scaled, -kMostInteger, kMostInteger));
      column.rows.push_back(static_cast<std::uint32_t>(row));
      column.values.push_back(whole);
      sums[row] += std::int64_t{whole} * whole;
    });
  }
  for (Column& column : made.columns_) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < column.rows.size(); ++k) {
      if (sums[column.rows[k]] > most) continue;
      column.rows[kept] = column.rows[k];
      column.values[kept++] = column.values[k];
    }
    column.rows.resize(kept);
    column.values.resize(kept);
    const auto differs = [&](std::int32_t value) { return value != column.values.front(); };
    if (kept > 0 && std::none_of(column.values.begin(), column.values.end(), differs)) {
      column.same = column.values.front();
      column.values = {};
    } else if (kept > n / 2) {
      std::vector<std::int32_t> dense(n);
      for (std::size_t k = 0; k < kept; ++k) dense[column.rows[k]] = column.values[k];
      column = {{}, std::move(dense), 0};
    }
  }
  if (rule.constant) made.columns_.push_back({{}, std::vector<std::int32_t>(n, 1 << rule.bits), 0});
  return made;
}

std::vector<double> WholeColumns::margins(std::span<const double> weights) const {
  std::vector<double> margins(rows_);
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const double weight = std::ldexp(weights[j], -bits_);
    if (weight == 0) continue;
    each(columns_[j], [&](std::size_t i, std::int32_t value) { margins[i] += weight * value; });
  }
  return margins;
}

std::vector<std::int64_t> WholeColumns::margin_counts(std::span<const double> weights, double per_unit,
                                                      std::int64_t most) const {
  const std::vector<double> margins = this->margins(weights);
  const auto bound = static_cast<double>(most);
  std::vector<std::int64_t> counts(margins.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double whole = std::nearbyint(margins[i] * per_unit);
    if (std::isnan(whole)) continue;  // counts 0
    counts[i] = whole >= bound ? most : whole <= -bound ? -most : static_cast<std::int64_t>(whole);
  }
  return counts;
}

std::vector<std::uint32_t> WholeColumns::margin_words(std::span<const double> weights, const MarginRule& rule) const {
  const auto counts = margin_counts(weights, std::ldexp(1 / rule.period, rule.bits), rule.largest());
  return {counts.begin(), counts.end()};
}

template <RingWord Word>
std::vector<Word> WholeColumns::column(std::size_t j) const {
  std::vector<Word> words(rows_);
  each(columns_[j], [&](std::size_t i, std::int32_t value) { words[i] = static_cast<Word>(std::int64_t{value}); });
  return words;
}

template <RingWord Word>
void WholeColumns::multiply_transposed(std::span<const Word> r, std::span<Word> out) const {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const Column& column = columns_[j];
    Word sum = 0;
    if (column.values.empty()) {
      for (const std::uint32_t i : column.rows) sum += r[i];
      sum *= static_cast<Word>(std::int64_t{column.same});
    } else {
      each(column, [&](std::size_t i, std::int32_t value) { sum += static_cast<Word>(std::int64_t{value}) * r[i]; });
    }
    out[j] = sum;
  }
}

Sensitive<GridVector, L2> WholeColumns::share(std::vector<std::int64_t> words, const JointSum& sum) {
  return {GridVector{std::move(words), Grain{0}}, sum.sensitivity(), sum.neighbours, sum.unit};
}

template std::vector<std::uint32_t> WholeColumns::column(std::size_t) const;
template std::vector<std::uint64_t> WholeColumns::column(std::size_t) const;
template void WholeColumns::multiply_transposed(std::span<const std::uint32_t>, std::span<std::uint32_t>) const;
template void WholeColumns::multiply_transposed(std::span<const std::uint64_t>, std::span<std::uint64_t>) const;

}  // namespace parley::privacy
