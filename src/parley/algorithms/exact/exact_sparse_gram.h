// X' diag(h) X of a working set: the Hessian of a mean loss with second derivatives h.
//
// Dense columns: tile by tile, a panel of rows at a time. Sparse ones: row by row, every pair of a row's
// entries adds its product to one place. Two entries at a time share the way through the entries before them:
// short loops of unpredictable length are what this costs. Rows are cut at places that depend on the data
// alone and the parts added in order, so the result does not depend on the number of threads.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "parley/algorithms/exact/exact_sparse_columns.h"

namespace parley::algorithms {

// Copies the lower triangle of a square to the upper one.
void mirror(std::size_t size, std::span<double> square);

// Keeps its memory from call to call.
class WorkingGram {
 public:
  // gram: size x size, both triangles.
  void run(const WorkingColumns& columns, std::span<const double> weights, std::span<double> gram);

 private:
  void by_tiles(const WorkingColumns& columns, std::span<const double> weights, std::span<double> gram);
  void by_rows(const WorkingColumns& columns, std::span<const double> weights, std::span<double> gram);

  std::vector<double> weighted_;  // tiles times weights, one panel
  std::vector<double> sums_;      // tiles: of all; rows: of all parts but the first, which adds to the result
};

}  // namespace parley::algorithms
