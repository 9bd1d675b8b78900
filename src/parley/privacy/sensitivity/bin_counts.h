// How many records fall where: for each of p quantities of a record, a count of records in every bin of a public list.
//
//   bin b of quantity k holds the records with  edge_{b-1} < v_ik <= edge_b;   the last one everything above
//
// A record is in one bin of each quantity, so one more record moves the vector of all counts by sqrt(p) in l2, and one
// record in the place of another by at most sqrt(2 p): it leaves p bins and enters p bins. Counts are whole numbers, so
// nothing is rounded. A value that is not a number is in no bin. Proof note: bin_counts.md.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/sensitivity/clipped_sum.h"
#include "parley/privacy/values.h"

namespace parley::privacy {

struct BinRule {
  std::vector<double> edges;   // public, ascending
  std::size_t quantities = 1;  // p
  Neighbours neighbours = Neighbours::kReplaceOne;
  Unit unit = Unit::kRecord;
};

inline constexpr Grain kOneRecord{0};

// Known before anybody looks at a record.
double bin_counts_sensitivity(const BinRule& rule);

// `values.dimensions` is p. Entry k * (edges + 1) + b is the count of bin b of quantity k.
Result<Sensitive<GridVector, L2>> bin_counts(const Private<Contributions>& values, const BinRule& rule);

}  // namespace parley::privacy
