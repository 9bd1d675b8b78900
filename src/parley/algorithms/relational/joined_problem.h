// What a trainer over a join in one process takes: the tables, and which of their tuples each row uses.
#pragma once
#include <span>

#include "parley/algorithms/relational/joined_rows.h"
#include "parley/glm/objective.h"
#include "parley/linalg/matrix.h"

namespace parley::algorithms {

struct JoinedProblem {
  std::span<const linalg::Matrix> features;  // of each table: n_i x d_i
  std::span<const JoinedTable> rows;         // of each table
  std::span<const double> labels;            // of each row of the join
  glm::Objective objective;
};

}  // namespace parley::algorithms
