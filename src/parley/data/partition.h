// Splits one table into the parties of a federation and drafts the job that trains on them.
//
// rows      every record goes to one party, its bytes unchanged and in the order of the file:
//             iid         at random, in equal or given shares
//             dirichlet   label skew: of each class, party p gets a share drawn from Dirichlet(alpha) (Hsu et
//             al. 2019);
//                         real labels are first cut into ten classes of equal size
//             shards      label skew: records sorted by label are cut into parts * shards pieces, dealt at
//             random
//                         (McMahan et al. 2017)
//             cluster     feature skew: k-means over a random projection of the features, one cluster a party
// columns   every party gets all records and some of the columns, with the id column in each file (row
// numbers when
//           the table has none), the label at one party. LIBSVM has no ids: there the order of the lines
//           aligns the records, and files without the label carry 0 in its place.
// tables    a joined table is taken apart again: for each key column, the columns whose value the key
// determines (or
//           those that are named) move to a dimension table with one record per key; the rest stays in the
//           fact table.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/generate.h"
#include "parley/data/raw_table.h"

namespace parley::data {

enum class RowSkew { kIid, kDirichlet, kShards, kCluster };

struct SplitRows {
  RowSkew skew = RowSkew::kIid;
  std::size_t parts = 2;
  std::vector<double> shares;  // iid: relative sizes; empty: equal
  double alpha = 0.5;          // dirichlet: smaller is more skewed
  std::size_t shards = 2;      // per party
  std::string label;           // column; empty: by convention
  std::string id;              // column that does not count as a feature; empty: by convention
};

struct SplitColumns {
  std::size_t parts = 2;            // contiguous groups of equal size, unless one of these is given:
  std::vector<std::size_t> counts;  // contiguous groups of these sizes
  std::string groups;               // "age,sex;5-9;*": names or numbers, parties apart by ";", * is the rest
  bool shuffle = false;             // columns in random order first
  bool keep_numbers = false;        // LIBSVM: do not number each party's columns from the first index anew
  std::string label;
  std::string label_party;  // name; empty: the first
  std::string id;
};

struct SplitTables {
  std::vector<std::string> keys;  // "KEY" or "KEY:column,column"
  std::string label;
  std::string id;
};

using SplitPlan = std::variant<SplitRows, SplitColumns, SplitTables>;

struct SplitOutput {
  std::filesystem::path folder;
  std::vector<std::string> names;  // of the parties; empty: party-1, party-2, ... (tables: fact and the keys)
  Packing packing = Packing::kNone;
  Existing existing = Existing::kRefuse;
  std::optional<Schema> schema;  // of the table: its parts get theirs
  std::string schema_file;       // where it was read, and that is not written over
};

struct SplitResult {
  std::vector<WrittenTable> tables;
  std::vector<std::string> parties;
  std::filesystem::path job;
  std::filesystem::path record;  // split.json: who got what
  std::vector<std::string> notes;
  bool trainable = true;  // the job is whole: a label is known
};

Result<SplitResult> split(const RawTable& table, const SplitPlan& plan, std::uint64_t seed, const SplitOutput& output);

// The party of every record, for tests and for splits in memory.
Result<std::vector<std::uint32_t>> assign_rows(const RawTable& table, const SplitRows& plan, std::uint64_t seed,
                                               std::vector<std::string>& notes);

}  // namespace parley::data
