// The columns of one party of a vertical federation: every record, some of the columns, in the same order of records
// at every party.
#pragma once
#include <memory>
#include <vector>

#include "parley/linalg/matrix.h"
#include "parley/secure/peers.h"

namespace parley::algorithms {

class LabelRelease;   // label_release.h
struct PrivateTerms;  // private_terms.h

struct ColumnShare {
  linalg::Matrix features;                // n x d_m
  std::vector<double> labels;             // n at the party that holds them, else empty
  bool constant = false;                  // a column of ones after the features: the penalised intercept
  const PrivateTerms* privacy = nullptr;  // null: the run is not private
  // In the place of `labels` where they leave with noise of their own: nobody but the gate reads them.
  std::shared_ptr<const LabelRelease> noisy_labels{};
  std::shared_ptr<const secure::Peers> peers{};  // null: a party without an identity

  [[nodiscard]] bool holds_labels() const { return !labels.empty() || noisy_labels != nullptr; }
};

// The column of ones included.
inline std::size_t columns_of(const ColumnShare& share) {
  return static_cast<std::size_t>(share.features.cols()) + (share.constant ? 1 : 0);
}

}  // namespace parley::algorithms
