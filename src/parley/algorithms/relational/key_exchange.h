// How the coordinator of a relational run learns which tuples join: every party sends the digests of its keys, once, and
// the parties of the label table the labels of their tuples: as they are, or with noise that is drawn once for a tuple,
// however many rows of the join use it (vertical/label_release.h). Then targets stand in the place of labels.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "parley/algorithms/relational/joined_rows.h"
#include "parley/algorithms/relational/table_share.h"
#include "parley/core/result.h"
#include "parley/glm/objective.h"
#include "parley/privacy/gate.h"

namespace parley::algorithms {

// On the wire a key is its form, then two numbers for each tuple.
using SentKey = std::vector<std::int64_t>;
std::vector<SentKey> sent_keys(std::span<const data::KeyColumns> keys);

// What labels that leave with noise cost. `asked`: they have left.
Result<void> reserve_labels(const TableShare& share, bool asked, privacy::Gate& gate);
// Charges that, then draws. Once in a run.
Result<privacy::Released<std::vector<double>>> sent_labels(const TableShare& share, privacy::Gate& gate);

struct SentTuples {
  int party = 0;
  const std::vector<SentKey>* keys = nullptr;
  const std::vector<double>* labels = nullptr;
};

// Of the tables' order, how many keys each has.
std::vector<std::size_t> key_counts(const data::JoinSpec& join);

// Whether a party that holds so many tuples may have sent this.
Result<void> check_sent(const RelationalTerms& tables, const glm::Objective& objective, std::int64_t tuples,
                        const SentTuples& sent);

struct Joined {
  data::JoinMap map;
  std::vector<double> labels;  // of each tuple of the label table
};
// A table of several parties has their tuples one after another.
Result<Joined> joined(const RelationalTerms& tables, std::span<const SentTuples> sent);

// Of the slots of the label table.
std::vector<double> labels_by_slot(const Joined& joined, const JoinedTable& label_table);

}  // namespace parley::algorithms
