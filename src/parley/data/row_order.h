// In which order the records of a table stand beside those of other tables: what an alignment leaves at a party, in a
// file of its own.
//
//   parley order 1                  the format
//   alignment 4611686018427387905   the same number at all parties of one alignment
//   records 400                     of the table
//   ids 9f86...                     digest of the table's ids in their order (record_ids.h): another table is refused
//   rows 380                        lines that follow
//   17                              records of the table from 1, in the common order; - where the table has no partner
//
// The file tells which of a party's own records others have too. It stays with its party.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/record_ids.h"

namespace parley::data {

inline constexpr linalg::Index kNoPartner = -1;

struct RowOrder {
  std::int64_t alignment = 0;
  std::size_t records = 0;
  std::string ids;
  std::vector<linalg::Index> rows;  // from 0, or kNoPartner
};

std::string to_text(const RowOrder& order);
Result<RowOrder> read_order(const std::string& path);

// The table's records in that order. An error where the order is of another table, or leaves gaps: a record of which a
// party has nothing is no record of a run.
Result<Dataset> in_order(const Dataset& table, const RowOrder& order, const IdRule& rule, const std::string& file);

}  // namespace parley::data
