// What a job over several tables would join, before it is run: the rows, how often tuples are used, what travels in an
// epoch, and whether training on the tables pays against training on their join. Keys and labels are read here; nothing
// is sent.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/jobs/job.h"

namespace parley::runs {

struct PlannedTable {
  std::string name;
  std::int64_t tuples = 0;
  std::int64_t columns = 0;
  std::int64_t unused = 0;        // tuples that no row uses
  std::int64_t missing_keys = 0;  // tuples with a key that is missing
  std::int64_t rows_without = 0;  // rows of the join without a tuple of this table
  std::int64_t most_used = 0;     // the largest fan-out: rows that use one tuple
  std::int64_t bytes = 0;         // of the features as they are stored

  [[nodiscard]] std::int64_t used() const { return tuples - unused; }
};

struct JoinPlan {
  std::int64_t rows = 0;
  std::int64_t outputs = 1;  // numbers for each row: one, or one a class
  std::vector<PlannedTable> tables;

  [[nodiscard]] std::int64_t bytes_per_epoch() const;            // both ways: a number for each tuple that is used
  [[nodiscard]] std::int64_t bytes_per_epoch_unreduced() const;  // a number for each row and table
  [[nodiscard]] std::int64_t memory_bytes() const;               // of all parties and the coordinator together, about
  [[nodiscard]] std::int64_t memory_bytes_materialised() const;  // the join as a table
  // Work of a pass over the join as a table against one over the tables and the map between them.
  [[nodiscard]] double factorised_gain() const;
};

Result<JoinPlan> plan_join(const jobs::Job& job);

std::string join_table(const JoinPlan& plan);  // lines for people
std::string join_json(const JoinPlan& plan);   // an object

}  // namespace parley::runs
