// Vectors: norms that neither overflow nor lose small entries, selection by magnitude, thresholds.
//
// Sums run over fixed chunks that are added in order, so the number of threads changes no bit.
#pragma once
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "parley/linalg/matrix.h"

namespace parley::linalg {

[[nodiscard]] double dot(std::span<const double> x, std::span<const double> y);
void axpy(double a, std::span<const double> x, std::span<double> y);  // y += a x
void scale(double a, std::span<double> x);                            // x *= a

[[nodiscard]] double l1_norm(std::span<const double> x);
[[nodiscard]] double l2_norm(std::span<const double> x);  // finite whenever the norm itself is
[[nodiscard]] double linf_norm(std::span<const double> x);
[[nodiscard]] double squared_norm(std::span<const double> x);

// Indices of the k entries of largest magnitude (all when k >= size), ascending. Of equal
// magnitudes the lower index is chosen.
[[nodiscard]] std::vector<Index> top_k(std::span<const double> x, std::size_t k);

// sign(x) max(|x| - threshold, 0): the proximal map of threshold * |x|.
inline double soft_threshold(double x, double threshold) {
  const double shrunk = std::abs(x) - threshold;
  return shrunk > 0 ? std::copysign(shrunk, x) : 0.0;
}
void soft_threshold(std::span<double> x, double threshold);

// H_k: keeps the k entries that top_k chooses and sets the others to zero.
void hard_threshold(std::span<double> x, std::size_t k);

}  // namespace parley::linalg
