#include "parley/privacy/sensitivity/clipped_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace parley::privacy {

namespace {

// Sums stay below this, so that adding noise cannot overflow either.
constexpr double kLargestCount = 4.0e18;

// Scores become doubles when they are selected by: beyond this they would be rounded, and two neighbours could move
// further apart than the sensitivity says.
constexpr double kLargestScore = 0x1p53;

// The room for the rounding of a norm of at most this many squares, and of the factor made from it.
constexpr double kNormRoom = 1 + 1e-9;
constexpr std::size_t kMostInANorm = std::size_t{1} << 22;

// floor(B/g): division by a power of two is exact, so this is the true floor.
Result<std::int64_t> largest_count(const ClipRule& rule, std::size_t terms, double largest = kLargestCount) {
  if (!(rule.bound > 0) || !std::isfinite(rule.bound))
    return fail(bad_input({.field = "bound"}, "must be a finite number above 0", fmt::format("{}", rule.bound)));
  PARLEY_CHECK(validate(rule.grain));
  const double counts = std::floor(std::ldexp(rule.bound, -rule.grain.exponent));
  if (counts < 1)
    return fail(
        bad_input({.field = "grain"}, "the grid is coarser than the bound", fmt::format("2^{}", rule.grain.exponent)));
  if (!(counts * static_cast<double>(std::max<std::size_t>(terms, 1)) < largest))
    return fail(bad_input(
        {.field = "grain"},
        fmt::format("the grid is too fine: the sum would not fit in {} bits", largest < kLargestCount ? 53 : 62),
        fmt::format("2^{}", rule.grain.exponent)));
  return static_cast<std::int64_t>(counts);
}

std::int64_t clipped_count(double value, std::int64_t largest, Grain grain) {
  if (!std::isfinite(value)) return 0;  // fails closed: the term is dropped
  const double scaled = std::ldexp(value, -grain.exponent);
  const auto limit = static_cast<double>(largest);
  return static_cast<std::int64_t>(std::clamp(std::nearbyint(scaled), -limit, limit));
}

double per_record(const ClipRule& rule, double counts) {
  return std::ldexp(rule.neighbours == Neighbours::kReplaceOne ? 2 * counts : counts, rule.grain.exponent);
}

struct ScalarSum {
  GridVector sum;
  double sensitivity;
};

Result<ScalarSum> scalar_sum(const std::vector<double>& values, const ClipRule& rule) {
  PARLEY_TRY(const std::int64_t largest, largest_count(rule, values.size()));
  std::int64_t sum = 0;
  for (const double value : values) sum += clipped_count(value, largest, rule.grain);
  return ScalarSum{{{sum}, rule.grain}, per_record(rule, static_cast<double>(largest))};
}

struct VectorSum {
  GridVector sum;
  double sensitivity;
};

Result<VectorSum> vector_sum(const UnitContributions& given, const ClipRule& rule) {
  const std::size_t m = given.dimensions;
  if (m == 0) return fail(bad_input({.field = "dimensions"}, "must be at least 1", "0"));
  PARLEY_TRY(const std::int64_t largest, largest_count(rule, given.units));
  // Rounding moves each coordinate by at most 1/2; the room covers the rounding of the norm and of the factor below,
  // which the integer check then holds to, and once more the rounding of that check.
  const double checked =
      (std::ldexp(rule.bound, -rule.grain.exponent) + 0.5 * std::sqrt(static_cast<double>(m))) * norm_room(m);
  const double limit = checked * checked;
  std::vector<std::int64_t> sum(m, 0);
  std::vector<std::int64_t> counts(m);
  for (std::size_t i = 0; i < given.units; ++i) {
    const std::span<const double> values = given.of(i);
    if (values.size() != m) continue;  // fails closed
    double largest_entry = 0;
    bool finite = true;
    for (const double value : values) {
      finite = finite && std::isfinite(value);
      largest_entry = std::max(largest_entry, std::abs(value));
    }
    if (!finite) continue;
    // Scaled by the largest entry so that squares neither overflow nor vanish.
    double squares = 0;
    for (std::size_t k = 0; k < m && largest_entry > 0; ++k) {
      const double part = values[k] / largest_entry;
      squares += part * part;
    }
    const double norm = largest_entry * std::sqrt(squares);
    double integer_squares = 0;
    for (std::size_t k = 0; k < m; ++k) {
      // norm may overflow to infinity for huge entries: divide first.
      const double kept =
          norm <= rule.bound ? values[k] : (values[k] / largest_entry) / std::sqrt(squares) * rule.bound;
      counts[k] = clipped_count(kept, largest, rule.grain);
      integer_squares += static_cast<double>(counts[k]) * static_cast<double>(counts[k]);
    }
    if (!(integer_squares <= limit)) continue;  // cannot happen; a bound that did not hold must not pass
    for (std::size_t k = 0; k < m; ++k) sum[k] += counts[k];
  }
  return VectorSum{{std::move(sum), rule.grain}, per_record(rule, checked * norm_room(m))};
}

struct OnePerRecord {
  GridVector grid;
  double sensitivity;
};

Result<OnePerRecord> one_per_record(const std::vector<double>& values, const ClipRule& rule) {
  if (rule.neighbours != Neighbours::kReplaceOne)
    return fail(bad_input({.field = "neighbours"}, "one value per record has a public length: replace-one only"));
  PARLEY_TRY(const std::int64_t largest, largest_count(rule, 1));
  GridVector grid{{}, rule.grain};
  grid.counts.reserve(values.size());
  for (const double value : values) grid.counts.push_back(clipped_count(value, largest, rule.grain));
  return OnePerRecord{std::move(grid), per_record(rule, static_cast<double>(largest))};
}

}  // namespace

Result<Sensitive<GridVector, L1>> clipped_sum(const Private<std::vector<double>>& terms, const ClipRule& rule) {
  PARLEY_TRY(const ScalarSum made, scalar_sum(SensitivityBound::read(terms), rule));
  return SensitivityBound::state<L1>(made.sum, made.sensitivity, rule);
}

Result<Sensitive<GridVector, L2>> clipped_sum_l2(const Private<std::vector<double>>& terms, const ClipRule& rule) {
  PARLEY_TRY(const ScalarSum made, scalar_sum(SensitivityBound::read(terms), rule));
  return SensitivityBound::state<L2>(made.sum, made.sensitivity, rule);
}

Result<Sensitive<GridVector, L2>> clipped_vector_sum(const Private<Contributions>& terms, const ClipRule& rule) {
  const Contributions& given = SensitivityBound::read(terms);
  const std::size_t m = given.dimensions;
  if (m == 0 || given.values.size() % m != 0)
    return fail(bad_input({.field = "dimensions"}, "must divide the number of values", fmt::format("{}", m)));
  PARLEY_TRY(VectorSum made, vector_sum({given.values.size() / m, m,
                                         [&](std::size_t i) { return std::span(given.values).subspan(i * m, m); }},
                                        rule));
  return SensitivityBound::state<L2>(std::move(made.sum), made.sensitivity, rule);
}

Result<Sensitive<GridVector, L2>> clipped_vector_sum(const Private<UnitContributions>& terms, const ClipRule& rule) {
  PARLEY_TRY(VectorSum made, vector_sum(SensitivityBound::read(terms), rule));
  return SensitivityBound::state<L2>(std::move(made.sum), made.sensitivity, rule);
}

Result<Sensitive<GridVector, Linf>> clipped_scores(const Private<Contributions>& terms, const ClipRule& rule) {
  const Contributions& given = SensitivityBound::read(terms);
  const std::size_t m = given.dimensions;
  if (m == 0 || given.values.size() % m != 0)
    return fail(bad_input({.field = "dimensions"}, "must divide the number of values", fmt::format("{}", m)));
  PARLEY_TRY(const std::int64_t largest, largest_count(rule, given.values.size() / m, kLargestScore));
  GridVector grid{std::vector<std::int64_t>(m, 0), rule.grain};
  for (std::size_t at = 0; at < given.values.size(); ++at)
    grid.counts[at % m] += clipped_count(given.values[at], largest, rule.grain);
  return SensitivityBound::state<Linf>(std::move(grid), per_record(rule, static_cast<double>(largest)), rule);
}

double column_squares_sensitivity(const ClipRule& rule) {
  // No two of the vectors have a negative product, so replacing one by another is at most a step to the side.
  const double sides = rule.neighbours == Neighbours::kReplaceOne ? std::sqrt(2.0) : 1.0;
  return sides * rule.bound * kNormRoom;
}

Result<Sensitive<GridVector, L2>> clipped_column_squares(const GridFeatures& features, const ClipRule& rule) {
  PARLEY_CHECK(features.check(rule.neighbours));
  PARLEY_TRY(const std::int64_t largest,
             largest_count({1.0, rule.grain}, static_cast<std::size_t>(features.most_records())));
  if (!(rule.bound > 0) || !std::isfinite(rule.bound))
    return fail(bad_input({.field = "bound"}, "must be a finite number above 0", fmt::format("{}", rule.bound)));
  const linalg::Matrix plain = features.matrix().with_column_scale({});
  const double limit = std::ldexp(rule.bound, -rule.grain.exponent) * kNormRoom;
  GridVector grid{std::vector<std::int64_t>(features.columns(), 0), rule.grain};
  std::vector<std::pair<std::size_t, std::int64_t>> row;
  for (linalg::Index i = 0; i < plain.rows(); ++i) {
    double fourth_powers = 0;
    const auto share = [&](linalg::Index j, double value) {  // (x_ij / B_j)^2, in [0, 1]
      const double part = std::min(1.0, std::abs(value) / features.stored_bound(static_cast<std::size_t>(j)));
      return part * part;
    };
    plain.for_each_in_row(i,
                          [&](linalg::Index j, double value) { fourth_powers += share(j, value) * share(j, value); });
    const double factor = std::min(1.0, rule.bound / std::sqrt(std::max(fourth_powers, 0x1p-1000)));
    row.clear();
    double squares = 0;
    plain.for_each_in_row(i, [&](linalg::Index j, double value) {
      const double counts = std::floor(std::ldexp(share(j, value) * factor, -rule.grain.exponent));
      if (!(counts >= 0 && counts <= static_cast<double>(largest)))
        return;  // fails closed: what is not a number is left out
      row.emplace_back(static_cast<std::size_t>(j), static_cast<std::int64_t>(counts));
      squares += counts * counts;
    });
    if (row.size() > kMostInANorm) continue;    // fails closed: its norm may be off by more than the room
    if (!(squares <= limit * limit)) continue;  // cannot happen; a bound that did not hold must not pass
    for (const auto& [j, counts] : row) grid.counts[j] += counts;
  }
  return SensitivityBound::state<L2>(std::move(grid), column_squares_sensitivity(rule), rule);
}

Result<Sensitive<GridVector, L2>> clipped_values(const Private<std::vector<double>>& values, const ClipRule& rule) {
  PARLEY_TRY(OnePerRecord made, one_per_record(SensitivityBound::read(values), rule));
  return SensitivityBound::state<L2>(std::move(made.grid), made.sensitivity, rule);
}

Result<Sensitive<GridVector, L1>> clipped_values_l1(const Private<std::vector<double>>& values, const ClipRule& rule) {
  PARLEY_TRY(OnePerRecord made, one_per_record(SensitivityBound::read(values), rule));
  return SensitivityBound::state<L1>(std::move(made.grid), made.sensitivity, rule);
}

Result<Sensitive<GridVector, L2>> values_by_theorem(const Private<std::vector<double>>& values, const ClipRule& rule,
                                                    ProvedDistance proved) {
  const double moves = proved.value();
  if (rule.neighbours != Neighbours::kReplaceOne)
    return fail(bad_input({.field = "neighbours"}, "one value per record has a public length: replace-one only"));
  if (!(moves > 0) || !std::isfinite(moves))
    return fail(bad_input({.field = "sensitivity"}, "must be a finite number above 0", fmt::format("{}", moves)));
  const std::vector<double>& given = SensitivityBound::read(values);
  PARLEY_TRY(const std::int64_t largest, largest_count(rule, 1));
  GridVector grid{{}, rule.grain};
  grid.counts.reserve(given.size());
  for (const double value : given) grid.counts.push_back(clipped_count(value, largest, rule.grain));
  const double rounding = std::ldexp(std::sqrt(static_cast<double>(given.size())), rule.grain.exponent);
  return SensitivityBound::state<L2>(std::move(grid), (moves + rounding) * (1 + 1e-14), rule);
}

}  // namespace parley::privacy
