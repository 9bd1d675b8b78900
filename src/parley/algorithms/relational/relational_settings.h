// Settings of relational ADMM; the letters are those of relational_admm.h.
#pragma once
#include <cstdint>

#include "parley/algorithms/relational/travelling_numbers.h"
#include "parley/core/toml.h"

namespace parley::algorithms {

enum class TableOrder { kParallel, kGaussSeidel };
enum class TableUpdate { kRelaxed, kMajorised, kPaper };
enum class UnionSums { kMasked, kConsensus };

struct RelationalSettings {
  int epochs = 2000;
  double tolerance = 1e-5;  // of both residuals, relative; 0: all epochs
  double rho = 0;           // 0: by the loss and the number of tables
  double relaxation = 0;    // alpha; 0: 1.6 of the relaxed update, else 1
  TableOrder order = TableOrder::kParallel;
  TableUpdate update = TableUpdate::kRelaxed;
  bool reduce_rows = true;                    // an owner works on tuples, not on rows of the join
  bool reduce_bytes = true;                   // a value travels for each tuple, not for each row of the join
  NumberWidth width = NumberWidth::kFloat64;  // of what travels in an epoch
  UnionSums sums = UnionSums::kMasked;        // of a table that several parties hold
  double union_rho = 0;                       // penalty of their consensus; 0: by w, N and their number

  static RelationalSettings read(Toml& settings);  // its keys of [algorithm]
};

}  // namespace parley::algorithms
