// The rows of a join, as the coordinator keeps them: for each table which of its tuples a row uses, numbered among those
// that some row uses ("slots"). Tuples that no row uses have no slot: nothing is computed for them, and no byte of theirs
// travels.
//
//   gather    a_j = sum_i h_i[p_i(j)]
//   scatter   Y_i[t] = sum over the rows j with p_i(j) = t of e_j
//
// Values of a row or slot are c neighbours (c classes). A row's sum is over the tables in their order and a slot's over
// the rows in theirs, so results do not depend on the number of threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parley/data/join.h"
#include "parley/linalg/storage.h"

namespace parley::algorithms {

struct JoinedTable {
  std::vector<linalg::Index> slots;   // of each row of the join; -1: none
  std::vector<linalg::Index> tuples;  // of each slot, ascending
  std::vector<linalg::Index> uses;    // G_i of each slot
  static void fields(auto& self, auto&& visit) { visit(self.slots, self.tuples, self.uses); }
};

std::vector<JoinedTable> joined_tables(const data::JoinMap& map);

// sums[j - begin] += values[slot of j] for the rows [begin, end).
struct RowRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};
void add_values(const JoinedTable& table, std::span<const double> values, std::size_t classes, RowRange rows,
                std::span<double> sums);

// out[slot] = the sum of the rows' values; `out` has a value for each slot and class.
void sum_by_slot(const JoinedTable& table, std::span<const double> by_row, std::size_t classes, std::span<double> out);

}  // namespace parley::algorithms
