// The weights of one table for given sums of its tuples:
//
//   theta = -A^-1 X'Y,    A = w X' diag(G) X + r I
//
//   columns <= tuples   A is factored
//   otherwise           with W = diag(sqrt(G)) X, theta = -(1/w) W'(W W' + (r/w) I)^-1 Y / sqrt(G)
//
// One factorisation serves a whole run. By the computation reduction of the paper (equation 35) X has a row for each
// tuple; without it X has a row for each row of the join, and G is 1.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "parley/core/result.h"
#include "parley/linalg/matrix.h"

namespace parley::algorithms {

class RidgeFactor;

struct SystemTerms {
  double weight = 0;        // w
  double ridge = 0;         // r
  bool reduce_rows = true;  // a row of X for each tuple
};

// -A^-1 b for each class of b, from X' diag(G) X.
class GramSystem {
 public:
  static Result<GramSystem> make(std::vector<double> gram, std::size_t columns, const SystemTerms& terms);
  [[nodiscard]] std::vector<double> solve(std::vector<double> moments) const;

 private:
  std::size_t columns_ = 0;
  std::vector<double> factor_;
};

// The values of a table as they travel: one per class for each of these tuples.
struct TravellingTuples {
  std::span<const linalg::Index> tuples;
  std::span<const linalg::Index> uses;  // G of each; empty: 1 each, and a tuple comes as often as rows use it
};

// X and G of the rows that an owner works on.
class TableRows {
 public:
  static TableRows make(const linalg::Matrix& features, const TravellingTuples& travelling, bool reduce_rows);

  [[nodiscard]] std::vector<double> gram() const;                                                // X' diag(G) X
  [[nodiscard]] std::vector<double> moments(std::span<const double> sums, int classes) const;    // X'Y, class by class
  [[nodiscard]] std::vector<double> values(std::span<const double> weights, int classes) const;  // of what travels

  [[nodiscard]] const linalg::Matrix& features() const { return features_; }
  [[nodiscard]] std::span<const double> uses() const { return uses_; }
  [[nodiscard]] std::vector<double> sums_by_row(std::span<const double> sums, int classes) const;  // Y

 private:
  linalg::Matrix features_;
  std::vector<double> uses_;           // G of each row
  std::vector<linalg::Index> row_of_;  // of each travelling tuple; empty: rows are travelling tuples
  std::vector<linalg::Index> split_;   // the travelling tuple of each row, where one has several; else empty
  std::size_t travelling_ = 0;
};

class TableSystem {
 public:
  static Result<TableSystem> make(TableRows rows, const SystemTerms& terms);

  [[nodiscard]] const TableRows& rows() const { return rows_; }
  [[nodiscard]] std::vector<double> solve(std::span<const double> sums, int classes) const;  // theta, class by class

 private:
  explicit TableSystem(TableRows rows) : rows_(std::move(rows)) {}
  [[nodiscard]] std::vector<double> solve_by_tuples(std::span<const double> sums, int classes) const;

  TableRows rows_;
  double weight_ = 0;
  std::optional<GramSystem> by_columns_;
  std::shared_ptr<const RidgeFactor> by_tuples_;
};

}  // namespace parley::algorithms
