// Sums whose sensitivity holds by construction: clip every contribution, round it to the public grid, clip again in
// integers, add integers. Order, threads and the floating-point unit cannot change the result, and no rounding is left
// out of the bound.
//
// With grain g and contributions bounded by B, one contribution q_i and what one record moves the sum by, in grains:
//
//                a contribution               add-remove       replace-one
//   scalar       |q_i| <= floor(B/g)          floor(B/g)       2 floor(B/g)
//   vector (l2)  ||q_i|| <= B/g + sqrt(m)/2   that             twice that       each of m coordinates is rounded by 1/2
//   values       |q_i| <= floor(B/g)          -                2 floor(B/g)     one record owns one coordinate
//   squares      ||q_i|| <= B/g               B/g              sqrt(2) B/g      they are nonnegative and rounded down
//
// A contribution that is not a finite number counts as 0. Proof notes: clipped_sum.md.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/sensitivity/grid_features.h"
#include "parley/privacy/sensitivity/theorems.h"
#include "parley/privacy/values.h"

namespace parley::privacy {

struct ClipRule {
  double bound = 0;  // B; l2 norm of a vector contribution
  Grain grain;       // g
  Neighbours neighbours = Neighbours::kReplaceOne;
  Unit unit = Unit::kRecord;
};

// n contributions of m coordinates each, record by record.
struct Contributions {
  std::vector<double> values;
  std::size_t dimensions = 1;
};

// The same of n units, made one after another: a unit's vector follows from its own data and from what is public, and
// stands until the next one is asked for.
struct UnitContributions {
  std::size_t units = 0;
  std::size_t dimensions = 1;
  std::function<std::span<const double>(std::size_t unit)> of;
};

// sum_i clip(x_i); in one dimension the l1 and l2 bounds are the same number.
Result<Sensitive<GridVector, L1>> clipped_sum(const Private<std::vector<double>>& terms, const ClipRule& rule);
Result<Sensitive<GridVector, L2>> clipped_sum_l2(const Private<std::vector<double>>& terms, const ClipRule& rule);

// sum_i x_i min(1, B / ||x_i||_2)
Result<Sensitive<GridVector, L2>> clipped_vector_sum(const Private<Contributions>& terms, const ClipRule& rule);
Result<Sensitive<GridVector, L2>> clipped_vector_sum(const Private<UnitContributions>& terms, const ClipRule& rule);

// Scores for selection, one per coordinate:
//   u_j = sum_i clip(x_ij, [-B, B])
// One record moves each score by at most 2 floor(B/g) grains (replace-one), whatever the number of coordinates.
Result<Sensitive<GridVector, Linf>> clipped_scores(const Private<Contributions>& terms, const ClipRule& rule);

// How large columns are, in squares of their bounds. Entry j is
//   sum_i t_i (x_ij / B_j)^2,       t_i = min(1, B / ||((x_ij / B_j)^2)_j||)
// The features' grid enforces |x_ij| <= B_j; rule.bound is B.
Result<Sensitive<GridVector, L2>> clipped_column_squares(const GridFeatures& features, const ClipRule& rule);
// The sensitivity that it states: public, known before anybody looks at a record.
double column_squares_sensitivity(const ClipRule& rule);

// (clip(x_1), ..., clip(x_n)): one value per record travels. Replace-one only, because the length is public.
Result<Sensitive<GridVector, L2>> clipped_values(const Private<std::vector<double>>& values, const ClipRule& rule);
// One record is one coordinate, so that in l1 it moves as far as in l2.
Result<Sensitive<GridVector, L1>> clipped_values_l1(const Private<std::vector<double>>& values, const ClipRule& rule);

// The same where the other values move too and a theorem says how far: replacing one record moves the whole vector by
// at most `moves` in l2, before the values are rounded. Rounding moves two neighbours apart by at most sqrt(n) grains
// more. That the theorem's conditions hold is the caller's duty; clipping to the bound is enforced here.
Result<Sensitive<GridVector, L2>> values_by_theorem(const Private<std::vector<double>>& values, const ClipRule& rule,
                                                    ProvedDistance moves);

}  // namespace parley::privacy
