// The records of one party of a horizontal federation: every column, some of the rows.
#pragma once
#include <memory>
#include <vector>

#include "parley/linalg/matrix.h"
#include "parley/secure/peers.h"

namespace parley::algorithms {

struct PrivateTerms;  // private_terms.h

struct RowShare {
  int party = 0;                                 // number in the job's list of parties: decides its random numbers
  linalg::Matrix features;                       // n_i x d
  std::vector<double> labels;                    // n_i; real, -1/+1, or class number 0..K-1, by task
  const PrivateTerms* privacy = nullptr;         // null: the run is not private
  std::vector<double> weights = {};              // of the records, in the sum of their losses; none: all 1
  std::shared_ptr<const secure::Peers> peers{};  // null: a party without an identity
};

}  // namespace parley::algorithms
