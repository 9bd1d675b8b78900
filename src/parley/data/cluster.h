// k-means over a random projection of a table's features.
//
//   projection   z_ik = sum_f value_if * s_fk, signs s_fk = +-1 from the seed and the feature, k = 1..32
//                (Achlioptas 2003: distances are kept up to a factor on average)
//   features     CSV: numbers standardised per column, other cells one feature per (column, text);
//                LIBSVM: entries of a record scaled to unit length
//   centres      k-means++ (Arthur & Vassilvitskii 2007), then Lloyd's steps until nothing moves, at most 50
#pragma once
#include <cstdint>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/raw_table.h"

namespace parley::data {

// Cluster of every record; each of `clusters` gets at least one. `leave_out` marks columns that are not features.
Result<std::vector<std::uint32_t>> cluster_rows(const RawTable& table, const std::vector<bool>& leave_out,
                                                std::size_t clusters, std::uint64_t seed);

}  // namespace parley::data
