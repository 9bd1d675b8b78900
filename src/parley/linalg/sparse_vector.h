// A vector of which only some entries are kept: ascending positions and their values.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "parley/linalg/matrix.h"

namespace parley::linalg {

struct SparseVector {
  Index size = 0;                // of the whole vector
  std::vector<Index> positions;  // ascending, below size
  std::vector<double> values;    // one for each position
  bool operator==(const SparseVector&) const = default;
};

// The entries that are not zero.
inline SparseVector sparse(std::span<const double> dense) {
  SparseVector kept;
  kept.size = static_cast<Index>(dense.size());
  for (std::size_t j = 0; j < dense.size(); ++j)
    if (dense[j] != 0) {
      kept.positions.push_back(static_cast<Index>(j));
      kept.values.push_back(dense[j]);
    }
  return kept;
}

// y += a x; y has x's size.
inline void axpy(double a, const SparseVector& x, std::span<double> y) {
  for (std::size_t e = 0; e < x.positions.size(); ++e) y[static_cast<std::size_t>(x.positions[e])] += a * x.values[e];
}

inline std::vector<double> dense(const SparseVector& x) {
  std::vector<double> y(static_cast<std::size_t>(x.size), 0.0);
  axpy(1.0, x, y);
  return y;
}

}  // namespace parley::linalg
