// Splits one table into the parties of a federation and drafts the job that trains on them.
//
// rows      every record goes to one party, its bytes unchanged and in the order of the file:
//             iid         at random, in equal or given shares
//             dirichlet   label skew: of each class, party p gets a share drawn from Dirichlet(alpha)
//                         (Hsu et al. 2019); real labels are first cut into ten classes of equal size
//             shards      label skew: records sorted by label are cut into parts * shards pieces, dealt at random
//                         (McMahan et al. 2017)
//             cluster     feature skew: k-means over a random projection of the features, one cluster a party
// columns   every party gets all records and some of the columns, with the id column in each file (row numbers when
//           the table has none), the label at one party. LIBSVM has no ids: there the order of the lines
//           aligns the records, and files without the label carry 0 in its place.
// tables    a joined table is taken apart again: for each key column, the columns whose value the key determines
//           (or those that are named) move to a dimension table with one record per key; the rest stays in the
//           fact table.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/raw_table.h"
#include "parley/data/split_plan.h"

namespace parley::data {

Result<SplitResult> split(const RawTable& table, const SplitPlan& plan, std::uint64_t seed, const SplitOutput& output);

// The party of every record, for tests and for splits in memory.
Result<std::vector<std::uint32_t>> assign_rows(const RawTable& table, const SplitRows& plan, std::uint64_t seed,
                                               std::vector<std::string>& notes);

}  // namespace parley::data
