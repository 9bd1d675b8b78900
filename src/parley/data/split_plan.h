// How a table is to be split into parties, where the parts go, and what came of it. What each way does: partition.h.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "parley/data/schema.h"
#include "parley/data/write.h"

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

}  // namespace parley::data
