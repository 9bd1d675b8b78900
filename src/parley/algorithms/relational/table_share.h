// What one party of a relational run holds, and what all of them know of the tables.
#pragma once
#include <memory>
#include <vector>

#include "parley/data/join.h"
#include "parley/linalg/matrix.h"
#include "parley/secure/peers.h"

namespace parley::algorithms {

struct PrivateTerms;  // private_terms.h

// A table, or one party's part of a table that is split by rows.
struct TableShare {
  linalg::Matrix features;                       // n x d, the column of ones last where the table has one
  std::vector<double> labels;                    // n at the parties of the table that has them, else empty
  std::vector<data::KeyColumns> keys;            // digests, as RelationalTerms::join numbers the keys of the table
  const PrivateTerms* privacy = nullptr;         // null: the run is not private
  int party = 0;                                 // number in the job's list
  std::shared_ptr<const secure::Peers> peers{};  // null: a party without an identity
};

// The tables of a job, in the order of the join's; known to everyone.
struct RelationalTerms {
  data::JoinSpec join;
  std::vector<int> table_of_party;  // of every party of the job
  int label_table = 0;
  // Of each table whether rows without one of its tuples use one more, the last: zero in every column but one of its own.
  // Where not (or where this is empty), they get nothing of the table.
  std::vector<bool> null_tuple;
  std::int64_t most_rows = data::kLargestJoin;

  // Parties that hold the party's table, in their order.
  [[nodiscard]] std::vector<int> holders_with(int party) const {
    std::vector<int> holders;
    for (std::size_t p = 0; p < table_of_party.size(); ++p)
      if (table_of_party[p] == table_of_party[static_cast<std::size_t>(party)]) holders.push_back(static_cast<int>(p));
    return holders;
  }
};

}  // namespace parley::algorithms
