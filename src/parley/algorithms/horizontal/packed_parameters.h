// Parameters as they travel: all of them, or the entries that are not zero.
#pragma once
#include <type_traits>
#include <vector>

#include "parley/linalg/sparse_vector.h"

namespace parley::algorithms {

template <bool sparse>
using PackedParameters = std::conditional_t<sparse, linalg::SparseVector, std::vector<double>>;

template <bool sparse>
PackedParameters<sparse> packed(const std::vector<double>& parameters) {
  if constexpr (sparse)
    return linalg::sparse(parameters);
  else
    return parameters;
}

inline const std::vector<double>& unpacked(const std::vector<double>& parameters) {
  return parameters;
}
inline std::vector<double> unpacked(const linalg::SparseVector& parameters) {
  return linalg::dense(parameters);
}
inline std::size_t unpacked_size(const std::vector<double>& parameters) {
  return parameters.size();
}
inline std::size_t unpacked_size(const linalg::SparseVector& parameters) {
  return static_cast<std::size_t>(parameters.size);
}

}  // namespace parley::algorithms
