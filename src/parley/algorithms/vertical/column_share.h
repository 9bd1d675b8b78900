// The columns of one party of a vertical federation: every record, some of the columns, in the same order of records
// at every party.
#pragma once
#include <vector>

#include "parley/linalg/matrix.h"

namespace parley::algorithms {

struct PrivateTerms;  // private_terms.h

struct ColumnShare {
  linalg::Matrix features;                // n x d_m
  std::vector<double> labels;             // n at the party that holds them, else empty
  bool constant = false;                  // a column of ones after the features: the penalised intercept
  const PrivateTerms* privacy = nullptr;  // null: the run is not private
};

// The column of ones included.
inline std::size_t columns_of(const ColumnShare& share) {
  return static_cast<std::size_t>(share.features.cols()) + (share.constant ? 1 : 0);
}

}  // namespace parley::algorithms
