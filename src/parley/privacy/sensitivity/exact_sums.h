// Sums over records s_c = sum_i S_ij q_i of one coordinate c each, exact whatever order, thread or update made them.
//
// q_i is record i's derivative of the loss, clipped to [-R, R] and rounded to a public grid; S is on a public grid
// (grid_features.h). The mean gradient of coordinate c is g_c = s_c unit_c. With n the public number of records
// (grid_features.h), one record replaced moves
//
//   g_c                by at most   D_c = 2 R B_j / n      (R B_j / n when one is added or taken away)
//   a score u(c, g_c)  by at most   slope(c) D_c           for a rule of score_rules.h
//   s_c / (R L_c)      by at most   2                      the value as it is released: "in contributions"
//
// and rounding is part of every bound that is stated. A record's margin may drift in floating point as it likes: it
// depends on that record and on released values only. Proof note: exact_sums.md.
//
// Coordinates are k (d + c) + j for class k, with c = 1 and a last coordinate per class (a column of ones) for a
// penalised intercept, else c = 0.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/sensitivity/grid_features.h"
#include "parley/privacy/sensitivity/score_rules.h"
#include "parley/privacy/values.h"

namespace parley::privacy {

struct SumSettings {
  double derivative_bound = 1;  // R
  int classes = 1;
  bool constant = false;  // one more column of ones
  Neighbours neighbours = Neighbours::kReplaceOne;
  Unit unit = Unit::kRecord;
};

class ExactSums {
 public:
  // Derivatives start at 0. `features` must outlive the sums.
  static Result<ExactSums> make(const GridFeatures& features, const SumSettings& settings);

  [[nodiscard]] std::size_t coordinates() const { return sums_.size(); }
  [[nodiscard]] double derivative_bound() const { return bound_; }  // R on its grid, never above the R asked for

  // All derivatives, row by row (n K of them), in one pass over the features.
  void assign(std::span<const double> derivatives);
  // The derivatives of one record (K of them): a pass over that row.
  void assign_row(linalg::Index row, std::span<const double> derivatives);
  void assign_row(linalg::Index row, double derivative) { assign_row(row, {&derivative, 1}); }
  // The derivatives of some records (K of each, in their order): a pass over those rows.
  void assign_rows(std::span<const linalg::Index> rows, std::span<const double> derivatives);
  // For one coordinate at a time: derivatives are kept, and add_up() makes the sum of a coordinate out of them. Not to
  // be mixed with assign_row(), which follows sums that were made before.
  void hold(std::span<const double> derivatives);
  void hold_rows(std::span<const linalg::Index> rows, std::span<const double> derivatives);
  void add_up(std::size_t coordinate);
  // Every sum, out of the derivatives that are kept: in one pass, and the same bits as assign_row() would have made.
  void add_up_all();
  // Coordinates whose sums assign_row() changed since the last forget_touched(); each once, in no order. How many there
  // are is as secret as the data.
  [[nodiscard]] std::span<const std::uint32_t> touched() const { return {touched_.data(), touched_count_}; }
  void forget_touched();

  // The score of one candidate for a ScoreBoard.
  template <class Rule>
  [[nodiscard]] Sensitive<double, Linf> score(const Rule& rule, std::size_t candidate) const;
  // All scores at once, for Gate::release.
  template <class Rule>
  [[nodiscard]] Sensitive<ScoreList, Linf> scores(const Rule& rule);
  // The scores of some coordinates' candidates, for a rule with one side.
  template <class Rule>
  [[nodiscard]] Sensitive<ScoreList, Linf> scores_of(const Rule& rule, std::span<const std::uint32_t> coordinates);
  // What one record can move a score of this rule by, over all candidates.
  template <class Rule>
  [[nodiscard]] double score_sensitivity(const Rule& rule) const;

  // s_c in contributions, s_c / (R L_c), rounded to the grain of value_grain(): its sensitivity is the same public
  // number for every coordinate, so that all releases of a run are one event of its plan.
  template <class Norm>
  [[nodiscard]] Sensitive<GridValue, Norm> value(std::size_t coordinate) const {
    return {GridValue{contributions(coordinate), value_grain()}, value_sensitivity(), neighbours_, unit_};
  }
  [[nodiscard]] static Grain value_grain() { return {-20}; }
  [[nodiscard]] double value_sensitivity() const { return value_sensitivity_; }
  // Gradient per contribution: a released value times this is an estimate of g_c.
  [[nodiscard]] double contribution(std::size_t coordinate) const { return reach_[column(coordinate)]; }

 private:
  ExactSums(const GridFeatures& features, const SumSettings& settings);
  [[nodiscard]] std::int64_t contributions(std::size_t coordinate) const;
  [[nodiscard]] double clip_and_round(double derivative) const;
  void add_to_row(linalg::Index row, std::size_t first, double change);
  void sum_by_rows();
  [[nodiscard]] std::size_t column(std::size_t coordinate) const {
    // Divisions are slow. A coordinate exists, so width_ > 0.
    return coordinate < width_ ? coordinate : coordinate % width_;  // NOLINT(clang-analyzer-core.DivideZero)
  }
  [[nodiscard]] double gradient(std::size_t coordinate) const {
    return sums_[coordinate] * (alike_ ? unit_gradient_.front() : unit_gradient_[column(coordinate)]);
  }
  [[nodiscard]] double moves(std::size_t coordinate) const {  // D_c
    return sides_ * (alike_ ? reach_.front() : reach_[column(coordinate)]);
  }
  template <class Rule>
  [[nodiscard]] double sensitivity_of(const Rule& rule, std::size_t coordinate) const;

  const GridFeatures* features_;
  linalg::Matrix plain_;  // S
  Neighbours neighbours_;
  Unit unit_;
  std::size_t classes_;
  std::size_t width_;  // coordinates per class
  bool constant_;
  double sides_;      // 2 for replace-one, 1 for add-remove
  double step_ = 1;   // of the derivatives' grid
  double bound_ = 1;  // R
  double value_sensitivity_ = 2;
  bool alike_ = false;                 // unit_gradient_ and reach_ are the same everywhere, as for unscaled text
  std::vector<double> unit_gradient_;  // per coordinate of a class: c_j / n
  std::vector<double> reach_;          // R B_j / n
  std::vector<double> inverse_;        // 1 / (R L_c)
  std::vector<double> derivatives_;    // on the grid
  std::vector<double> sums_;
  std::vector<std::uint32_t> touched_;  // the first touched_count_ of them
  std::size_t touched_count_ = 0;
  std::vector<char> is_touched_;
  ScoreRoom scores_;
};

// Sums of single coordinates lie anywhere: memory is asked for this many of them ahead of use.
inline constexpr std::size_t kSumsAhead = 16;

// NaN counts as larger than everything.
inline double larger(double a, double b) {
  return a != a || b <= a ? a : b;
}

// Gradients are at most 2^30 sensitivities (n/2 of replace-one, 4N of add-remove), offsets at most as much: scores are
// off by at most 2^-17 of one, on either side of a comparison of neighbours.
inline constexpr double kLargestOffset = 0x1p30;
inline constexpr double kRoundingRoom = 1 + 0x1p-16;

template <class Rule>
[[gnu::always_inline]] inline double ExactSums::sensitivity_of(const Rule& rule, std::size_t coordinate) const {
  static_assert(ProvedRule<Rule>, "this rule has no proof of how far one record moves its scores");
  if (!(rule.offset(coordinate) <= kLargestOffset * moves(coordinate))) return std::numeric_limits<double>::infinity();
  return rule.slope(coordinate) * moves(coordinate) * kRoundingRoom;
}

template <class Rule>
double ExactSums::score_sensitivity(const Rule& rule) const {
  double largest = 0;
  for (std::size_t c = 0; c < coordinates(); ++c) largest = larger(largest, sensitivity_of(rule, c));
  return largest;
}

template <class Rule>
Sensitive<double, Linf> ExactSums::score(const Rule& rule, std::size_t candidate) const {
  const std::size_t coordinate = candidate / Rule::kSides;
  return {rule.score(candidate, gradient(coordinate)), sensitivity_of(rule, coordinate), neighbours_, unit_};
}

template <class Rule>
Sensitive<ScoreList, Linf> ExactSums::scores(const Rule& rule) {
  const std::span<double> scores = scores_.write(coordinates() * Rule::kSides);
  double largest = 0;
  for (std::size_t c = 0; c < coordinates(); ++c) {
    const double g = gradient(c);
    for (std::size_t v = c * Rule::kSides; v < (c + 1) * Rule::kSides; ++v) scores[v] = rule.score(v, g);
    largest = larger(largest, sensitivity_of(rule, c));
  }
  return {scores_.list(), largest, neighbours_, unit_};
}

template <class Rule>
Sensitive<ScoreList, Linf> ExactSums::scores_of(const Rule& rule, std::span<const std::uint32_t> coordinates) {
  static_assert(Rule::kSides == 1);
  const std::span<double> scores = scores_.write(coordinates.size());
  double largest = 0;
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    const std::size_t c = coordinates[i];
    if (i + kSumsAhead < coordinates.size()) __builtin_prefetch(&sums_[coordinates[i + kSumsAhead]]);
    scores[i] = rule.score(c, gradient(c));
    largest = larger(largest, sensitivity_of(rule, c));
  }
  return {scores_.list(), largest, neighbours_, unit_};
}

}  // namespace parley::privacy
