#include "parley/algorithms/relational/met_tuples.h"

#include <algorithm>

#include "parley/core/threads.h"

namespace parley::algorithms {

using linalg::Index;
using linalg::Matrix;

namespace {

// Row numbers in ascending order of their slots, as they stand in `order` within a slot; rows without one are left out.
std::vector<Index> by_slot(const JoinedTable& table, std::span<const Index> order) {
  std::vector<std::size_t> next(table.tuples.size() + 1, 0);
  for (const Index row : order)
    if (const Index slot = table.slots[static_cast<std::size_t>(row)]; slot >= 0)
      ++next[static_cast<std::size_t>(slot) + 1];
  for (std::size_t s = 1; s < next.size(); ++s) next[s] += next[s - 1];
  std::vector<Index> sorted(next.back());
  for (const Index row : order)
    if (const Index slot = table.slots[static_cast<std::size_t>(row)]; slot >= 0)
      sorted[next[static_cast<std::size_t>(slot)]++] = row;
  return sorted;
}

std::vector<Index> all_rows(const JoinedTable& table) {
  std::vector<Index> rows(table.slots.size());
  for (std::size_t j = 0; j < rows.size(); ++j) rows[j] = static_cast<Index>(j);
  return rows;
}

constexpr std::size_t kSlotsPerChunk = 256;

}  // namespace

MetTuples::MetTuples(const JoinedTable& outer, const JoinedTable& inner)
    : pair_of_row_(outer.slots.size(), -1), first_(outer.tuples.size() + 1, 0) {
  const std::vector<Index> sorted = by_slot(outer, by_slot(inner, all_rows(inner)));
  Index last_outer = -1, last_inner = -1;
  for (const Index row : sorted) {
    const auto at = static_cast<std::size_t>(row);
    const Index o = outer.slots[at], i = inner.slots[at];
    if (o != last_outer || i != last_inner) {
      inner_of_.push_back(i);
      ++first_[static_cast<std::size_t>(o) + 1];
    }
    pair_of_row_[at] = static_cast<Index>(inner_of_.size()) - 1;
    last_outer = o;
    last_inner = i;
  }
  for (std::size_t s = 1; s < first_.size(); ++s) first_[s] += first_[s - 1];
}

void MetTuples::block(const Matrix& outer, const Matrix& inner, std::span<const double> weights,
                      std::span<double> block) const {
  std::vector<double> of_pair(inner_of_.size(), 0.0);
  for (std::size_t j = 0; j < pair_of_row_.size(); ++j)
    if (pair_of_row_[j] >= 0) of_pair[static_cast<std::size_t>(pair_of_row_[j])] += weights[j];
  // W X_inner, a row for each outer slot.
  const auto columns = static_cast<std::size_t>(inner.cols()), slots = first_.size() - 1;
  std::vector<double> summed(slots * columns, 0.0);
  parallel_chunks(slots, kSlotsPerChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s)
      for (std::size_t pair = first_[s]; pair < first_[s + 1]; ++pair)
        inner.for_each_in_row_by_kind(inner_of_[pair], [&](Index column, double value) {
          summed[s * columns + static_cast<std::size_t>(column)] += of_pair[pair] * value;
        });
  });
  const auto rows = static_cast<std::size_t>(outer.cols());
  std::vector<double> by_column(rows * columns);
  outer.multiply_transposed(summed, static_cast<int>(columns), by_column);
  for (std::size_t k = 0; k < columns; ++k)
    for (std::size_t j = 0; j < rows; ++j) block[j * columns + k] = by_column[k * rows + j];
}

}  // namespace parley::algorithms
