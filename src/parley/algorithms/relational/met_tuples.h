// Which tuples of two tables meet in rows of a join, and blocks  X_outer' W X_inner  of a Hessian over it, W the sum of
// the rows' weights for each pair.
#pragma once
#include <span>
#include <vector>

#include "parley/algorithms/relational/joined_rows.h"
#include "parley/linalg/matrix.h"

namespace parley::algorithms {

class MetTuples {
 public:
  // `outer` should have fewer slots.
  MetTuples(const JoinedTable& outer, const JoinedTable& inner);

  // block[j * inner columns + k], of the features of the tables' slots (a row for each).
  void block(const linalg::Matrix& outer, const linalg::Matrix& inner, std::span<const double> weights,
             std::span<double> block) const;

  [[nodiscard]] std::size_t pairs() const { return inner_of_.size(); }

 private:
  std::vector<linalg::Index> pair_of_row_;  // -1: one of the two has no tuple
  std::vector<std::size_t> first_;          // pair of each outer slot, and the end
  std::vector<linalg::Index> inner_of_;     // slot of each pair
};

}  // namespace parley::algorithms
