// Gram matrices of the columns of A (n x d), column scale included.
//
//   weighted_gram   G = A' diag(h) A, dense and symmetric, both triangles filled: G[a*s + b]
//   gram_column     G_j = A' a_j, from the rows of column j's nonzeros only when that is cheaper
//   gram_columns    several of them in one pass over the matrix
//
// Used by explicit-Hessian Newton (h the curvatures of the loss) and by least-squares Frank-Wolfe.
#pragma once
#include <span>

#include "parley/linalg/matrix.h"

namespace parley::linalg {

// All columns: out has d*d entries. Empty weights mean ones.
void weighted_gram(const Matrix& a, std::span<const double> weights, std::span<double> out);
// Only the given distinct columns, in their order: out has s*s entries, s = columns.size().
void weighted_gram(const Matrix& a, std::span<const double> weights, std::span<const Index> columns,
                   std::span<double> out);

// out[l] = <a_l, a_j> for every column l.
void gram_column(const Matrix& a, Index j, std::span<double> out);

// out[k*d + l] = <a_l, a_j>, j = columns[k].
void gram_columns(const Matrix& a, std::span<const Index> columns, std::span<double> out);

}  // namespace parley::linalg
