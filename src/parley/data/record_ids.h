// The ids of a table's records as they are compared with those of other tables, by a rule that is stated:
//
//   - blanks of ASCII (space, tab, line ends) at both ends of an id are taken off;
//   - with `fold_case` the letters A to Z become a to z; other letters stay as they are;
//   - an id of several columns is the list of their texts, each with its length before it;
//   - text is compared byte by byte in UTF-8. It is not brought into Unicode's normal form NFC, because no library that
//     is kept here does it: ids with characters beyond ASCII are counted, so that two spellings of an accent are no surprise;
//   - a record whose id lacks in a column has no partner.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/dataset.h"

namespace parley::data {

struct IdRule {
  bool fold_case = false;
  enum class Duplicates {
    kRefuse,
    kFirst,  // of several records with one id the first is taken
  };
  Duplicates duplicates = Duplicates::kRefuse;
};

struct RecordIds {
  std::vector<std::string> ids;     // each once
  std::vector<linalg::Index> rows;  // of each
  std::size_t records = 0;          // of the table
  std::size_t changed = 0;          // ids that are not as the table has them
  std::size_t missing = 0;          // records without an id
  std::size_t repeated = 0;         // records whose id an earlier one has
  std::size_t beyond_ascii = 0;
};

// Of the key columns that the table was read with, else of its ids. `file`: its name, for errors, which hold no id.
Result<RecordIds> record_ids(const Dataset& table, const IdRule& rule, const std::string& file);

// Of all ids in their order: whether a table is the one that an order was made for.
std::string digest_of_ids(const RecordIds& ids);

}  // namespace parley::data
