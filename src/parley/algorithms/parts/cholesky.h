// Cholesky factor L L' = S of a symmetric positive definite matrix, in place.
#pragma once
#include <cstddef>
#include <span>

namespace parley::algorithms {

// `square` holds the lower triangle row by row, size x size; on success the lower triangle becomes
// L. False when a pivot is not positive; the square is then spoilt.
bool cholesky(std::span<double> square, std::size_t size);

// x <- (L L')^-1 x
void cholesky_solve(std::span<const double> factor, std::size_t size, std::span<double> x);

}  // namespace parley::algorithms
