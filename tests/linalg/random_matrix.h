// Matrices of every mix of storage, beside the same numbers as a plain dense array.
#pragma once
#include <cmath>
#include <random>
#include <vector>

#include "parley/linalg/matrix.h"

namespace parley::linalg {

struct Plain {
  Index rows = 0;
  Index cols = 0;
  std::vector<double> values;  // column-major

  [[nodiscard]] double at(Index i, Index j) const {
    return values[static_cast<std::size_t>(j) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(i)];
  }
  [[nodiscard]] Matrix matrix() const { return Matrix::from_dense(rows, cols, values); }
  [[nodiscard]] Matrix matrix_from_rows() const {
    std::vector<std::size_t> offsets{0};
    std::vector<Index> columns;
    std::vector<double> entries;
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < cols; ++j)
        if (at(i, j) != 0.0) {
          columns.push_back(j);
          entries.push_back(at(i, j));
        }
      offsets.push_back(columns.size());
    }
    return Matrix::from_rows(cols, offsets, columns, entries);
  }
};

// A value whose smallest storage is the given one.
inline double value_of(Storage storage, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  switch (storage) {
    case Storage::kBinary:
      return 1.0;
    case Storage::kInt8:
      return static_cast<double>(2 + random() % 126) * (random() % 2 ? 1 : -1);
    case Storage::kInt16:
      return static_cast<double>(128 + random() % 32640) * (random() % 2 ? 1 : -1);
    case Storage::kFloat32:
      return static_cast<double>(static_cast<float>(0.1 + std::abs(normal(random))));
    case Storage::kFloat64:
      return normal(random);
  }
  return 0;
}

// Column j has storage j mod 5 and one of the densities 0, few, 0.1, 0.5, 1 in turn.
inline Plain mixed(Index rows, Index cols, unsigned seed) {
  Plain plain{rows, cols, std::vector<double>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols))};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  const double densities[] = {0.1, 1.0, 0.01, 0.5, 0.0, 0.15, 0.25};
  std::size_t k = 0;
  for (Index j = 0; j < cols; ++j)
    for (Index i = 0; i < rows; ++i, ++k)
      if (uniform(random) < densities[j % 7]) plain.values[k] = value_of(static_cast<Storage>(j % 5), random);
  return plain;
}

inline std::vector<double> normal_vector(std::size_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(size);
  for (double& v : x) v = normal(random);
  return x;
}

}  // namespace parley::linalg
