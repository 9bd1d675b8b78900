// How large columns and rows are, looked at privately before a private run begins: a bound of a schema says what a value
// can be, and most values may be far below it.
//
//   numbers   for every column that the schema calls a number, counts of records by |x_ij| / B_j in public bins; the
//             column's scale a_j is the smallest edge that at most 2 % of the records are above
//   labels    counts of records by a real label in 32 bins between its bounds; its range is that of the bins that are left
//             when up to 2 % of the records are cut off at each end
//   rows      counts of records by ||x_i|| in public bins; the norm is the smallest edge that half of them are not above
//
// Features are then x_ij / a_j, clipped to [-1, 1]: a number uses the room that its bound had promised it. Each of the
// three is one release (privacy/sensitivity/bin_counts.h) and costs its share of the squared Gaussian-DP parameter of the
// run. Where the noise of the counts would be no better than a guess, by public numbers, there is no look, at no cost.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "parley/algorithms/parts/fit.h"
#include "parley/algorithms/parts/private_terms.h"
#include "parley/core/result.h"
#include "parley/privacy/sensitivity/bin_counts.h"

namespace parley::algorithms {

inline constexpr double kNumbersShare = 0.04;
inline constexpr double kLabelsShare = 0.02;
inline constexpr double kRowsShare = 0.01;

// One release of counts, from public numbers.
struct Look {
  privacy::BinRule rule;
  privacy::Deviation noise{};
  privacy::Event event{};
};

struct Looks {
  std::optional<Look> numbers;
  std::optional<Look> labels;
  std::optional<Look> rows;
  [[nodiscard]] double share() const {
    return (numbers ? kNumbersShare : 0) + (labels ? kLabelsShare : 0) + (rows ? kRowsShare : 0);
  }
  [[nodiscard]] std::vector<privacy::Event> events() const;
};

struct Wanted {
  bool numbers = false;
  bool labels = false;
  bool rows = false;
};
Result<Looks> plan_looks(const PrivateTerms& terms, const Wanted& wanted);

// a_j of the columns terms.numbers. The gate must hold the event in its plan.
Result<std::vector<double>> scales_of_numbers(const PrivateTerms& terms, const Look& look);
// Where labels are: most are within `reach` of the middle.
struct LabelRange {
  double middle = 0;
  double reach = 1;
};
Result<LabelRange> range_of_labels(const PrivateTerms& terms, std::span<const double> labels, const Look& look);
// Of the features as they are, without an intercept.
Result<double> norm_of_rows(const PrivateTerms& terms, const Look& look);

}  // namespace parley::algorithms
