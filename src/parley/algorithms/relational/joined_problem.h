// What a trainer over a join in one process takes: the tables, and which of their tuples each row uses.
#pragma once
#include <cstddef>
#include <span>

#include "parley/algorithms/relational/joined_rows.h"
#include "parley/glm/objective.h"
#include "parley/linalg/matrix.h"

namespace parley::algorithms {

struct PrivateTerms;  // parts/private_terms.h

// What a private run protects: everything in the rows of one unit. Rows and units follow from the keys alone.
struct JoinUnits {
  std::span<const linalg::Index> of_row;  // of each row of the join; -1: the row is left out
  std::size_t count = 0;                  // each has a row
};

struct JoinedProblem {
  std::span<const linalg::Matrix> features;  // of each table: n_i x d_i
  std::span<const JoinedTable> rows;         // of each table
  std::span<const double> labels;            // of each row of the join
  glm::Objective objective;
  const PrivateTerms* privacy = nullptr;  // null: the run is not private
  JoinUnits units{};                      // of a private run
};

}  // namespace parley::algorithms
