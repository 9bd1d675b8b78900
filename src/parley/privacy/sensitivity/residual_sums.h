// Scores of least squares over an l1 ball, for a public point W = s V that shrinks and gains one column at a time.
//
//   g_c(s) = 1/n sum_i x_ic (<x_i, W> - y_i) + l2 W_c = s a_c - b_c
//   a = X'XV / n + l2 V
//   b = X'y / n
//
// No record needs clipping: with |x_ic| <= B_c, |y_i| <= Y and ||W||_1 <= r its residual is at most R = r max B + Y, so
// replacing one moves g_c by at most 2 R B_c / n, n the public number of records. Columns of the Gram matrix and b are
// sums over records of products of numbers on public grids, exact integers; a is made of them with public factors, one
// rounding per step, and the room that exact_sums.h leaves for rounding covers it. Proof note: residual_sums.md.
//
// Adding to V_j touches the columns that share a row with column j. Where those are many, the Gram column is kept.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/sensitivity/grid_features.h"
#include "parley/privacy/values.h"

namespace parley::privacy {

struct ResidualSettings {
  double radius = 1;       // r
  double label_bound = 1;  // Y
  double l2 = 0;
  std::int64_t steps = 1;  // calls of add() at most
  std::size_t cache_bytes = std::size_t{1} << 30;
  Neighbours neighbours = Neighbours::kReplaceOne;
  Unit unit = Unit::kRecord;
};

class ResidualSums {
 public:
  // V starts at 0. Labels are clipped to [-Y, Y] and rounded to a grid. `features` must outlive the sums.
  static Result<ResidualSums> make(const GridFeatures& features, std::span<const double> labels,
                                   const ResidualSettings& settings);
  // The largest residual, R.
  static double residual_bound(const GridFeatures& features, const ResidualSettings& settings);

  [[nodiscard]] std::size_t coordinates() const { return lines_.size(); }
  [[nodiscard]] double score_sensitivity() const { return sensitivity_; }

  void fold(double factor);                                        // V <- factor V
  void add(std::size_t column, double amount);                     // V[column] += amount
  [[nodiscard]] bool all_touched() const { return all_touched_; }  // by the last add()
  [[nodiscard]] std::span<const std::uint32_t> touched() const { return {touched_.data(), touched_count_}; }
  // The coordinates whose scores can differ from 0, ascending: those of all others are 0 whatever was added and
  // whatever s is. How many they are is as secret as the data.
  [[nodiscard]] std::span<const std::uint32_t> live() const { return live_; }

  // The descent along +e_c at W = s V, -g_c(s).
  [[nodiscard]] Sensitive<double, Linf> score(std::size_t c, double s) const {
    return {descent(c, s), sensitivity_, neighbours_, unit_};
  }
  // Not below |score(c, s)| for any s between the two: a line is largest in size at an end.
  [[nodiscard]] Sensitive<ScoreList, Linf> ceilings(double low, double high);
  // Those of these coordinates.
  [[nodiscard]] Sensitive<ScoreList, Linf> ceilings_of(std::span<const std::uint32_t> coordinates, double low,
                                                       double high);

 private:
  explicit ResidualSums(const GridFeatures& features)
      : features_(&features), plain_(features.matrix().with_column_scale({})) {}
  [[nodiscard]] double descent(std::size_t c, double s) const { return lines_[c].offset - s * lines_[c].slope; }
  [[nodiscard]] double ceiling_of(std::size_t c, double low, double high) const;
  void add_gram(std::span<const double> gram, double factor);

  const GridFeatures* features_;
  linalg::Matrix plain_;  // S
  Neighbours neighbours_ = Neighbours::kReplaceOne;
  Unit unit_ = Unit::kRecord;
  double sensitivity_ = 0;
  double l2_ = 0;
  std::size_t cache_left_ = 0;
  struct Line {         // side by side: a coordinate anywhere costs one line of memory
    double slope = 0;   // a
    double offset = 0;  // b
  };
  std::vector<double> unit_scale_;  // c_j
  std::vector<Line> lines_;
  std::vector<double> gram_;  // scratch: one Gram column of S, zero between uses
  std::vector<std::vector<double>> cached_;
  std::vector<std::uint32_t> touched_;  // the first touched_count_
  std::size_t touched_count_ = 0;
  std::vector<std::uint32_t> live_;
  bool all_touched_ = false;
  ScoreRoom ceilings_;
};

}  // namespace parley::privacy
