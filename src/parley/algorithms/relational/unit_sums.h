// What the units of a private run over a join contribute to a gradient: each the sum over its rows, clipped after it was
// summed up. Rows, tuples and a_j as in factorised_newton.h.
//
//   v_u  =  sum over the rows j of unit u of  q_j (x) (x_{1,p_1(j)}, ..., x_{M,p_M(j)})
//   q_j  =  phi'(a_j; y_j), each entry clipped to [-R, R]
//   sum over u of  v_u min(1, C / |v_u|)
//
// A unit is one tuple of a table, or all tuples with one key of it (JoinUnits), and changes the sum by 2 C at most however
// many rows use it. Clipping each row instead would let it change by C times its rows.
//
// Nothing about a unit follows from another one's data, down to the last bit: a product of a tuple is summed over its own
// nonzeros in the order of the columns, a loss is computed row by row. Proof note: unit_sums.md.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "parley/algorithms/relational/joined_problem.h"
#include "parley/core/result.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

namespace parley::algorithms {

class UnitSums {
 public:
  // `problem` must outlive it. `derivative_bound`: R.
  UnitSums(const JoinedProblem& problem, double derivative_bound);

  // Weights class by class, in each the tables' columns one table after another.
  [[nodiscard]] std::size_t coordinates() const { return columns_ * classes_; }
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }  // that some unit has
  [[nodiscard]] std::size_t units() const { return begins_.size() - 1; }

  // Where sums are taken from now on; returns the mean loss over all rows of the join, for the data's holder only.
  double move_to(std::span<const double> weights);
  [[nodiscard]] Result<privacy::Sensitive<privacy::GridVector, privacy::L2>> sum(const privacy::ClipRule& rule) const;

 private:
  // The nonzeros of the tuples that rows use, tuple by tuple.
  struct Table {
    std::size_t first = 0;             // of its columns among those of all tables
    std::vector<std::size_t> begins;   // of each slot, and the end
    std::vector<std::size_t> columns;  // among those of all tables
    std::vector<double> values;
  };
  void add_row(std::size_t row, std::span<double> out) const;

  const JoinedProblem& problem_;
  double derivative_bound_;
  std::size_t classes_;
  std::size_t columns_ = 0;
  std::vector<Table> tables_;
  std::vector<std::size_t> begins_;  // of each unit in rows_, and the end
  std::vector<std::size_t> rows_;    // of the join, unit by unit, in their order
  std::vector<double> derivatives_;  // q, of each row and class
};

}  // namespace parley::algorithms
