// Makes the columns of a matrix from a source of rows, without a second copy of the entries.
//
// The source has parts, each a range of consecutive rows in order; visit(part, f) calls f(i, j, v) for
// the nonzeros of the part, rows ascending. Every part is visited twice: to count, then to write.
// release(part) is called when a part is no longer needed. Parts are shared out among as many
// groups as there are threads; where an entry goes does not depend on that.
#pragma once
#include <algorithm>
#include <cassert>

#include "parley/core/threads.h"
#include "parley/linalg/stored.h"

namespace parley::linalg {

template <class Visit, class Release>
std::shared_ptr<const StoredMatrix> assemble_rows(Index rows, Index cols, std::size_t parts, const Visit& visit,
                                                  const Release& release) {
  struct Tally {
    std::uint32_t count = 0;  // later: where the group's next entry of the column goes
    Storage storage = Storage::kBinary;
  };
  const auto d = static_cast<std::size_t>(cols);
  // Tallies for more columns than this cost more than a second thread gains.
  constexpr std::size_t kSharedColumns = std::size_t{1} << 20;
  const std::size_t groups = d > kSharedColumns ? 1
                                                : std::clamp<std::size_t>(static_cast<std::size_t>(thread_count()), 1,
                                                                          std::max<std::size_t>(parts, 1));
  const auto first_part = [&](std::size_t group) { return group * parts / groups; };
  std::vector<std::vector<Tally>> tallies(groups);
  parallel_chunks(groups, 1, [&](std::size_t group, std::size_t) {
    auto& tally = tallies[group];
    tally.resize(d);
    for (std::size_t part = first_part(group); part < first_part(group + 1); ++part)
      visit(part, [&](Index, Index j, double v) {
        assert(j >= 0 && j < cols);
        Tally& column = tally[static_cast<std::size_t>(j)];
        ++column.count;
        if (column.storage != Storage::kFloat64) column.storage = std::max(column.storage, smallest_storage(v));
      });
  });

  auto stored = std::make_shared<StoredMatrix>();
  stored->rows = rows;
  stored->columns.resize(d);
  std::size_t sparse_size = 0;
  std::size_t dense_size = 0;
  for (std::size_t j = 0; j < d; ++j) {
    StoredColumn& column = stored->columns[j];
    for (auto& tally : tallies) {
      const std::uint32_t before = column.count;
      column.count += tally[j].count;
      column.storage = std::max(column.storage, tally[j].storage);
      tally[j].count = before;
    }
    if (better_dense(column.storage, column.count, rows)) {
      column.dense = true;
      column.storage = std::max(column.storage, Storage::kInt8);
      dense_size = aligned(dense_size, 64) + static_cast<std::size_t>(rows) * width(column.storage);
    } else if (column.count > 0) {
      sparse_size =
          aligned(sparse_size, width(column.storage) == 8 ? 8 : 4) + sparse_bytes(column.storage, column.count);
    }
  }
  const auto sparse = std::make_shared<Memory>(sparse_size, PageSize::kLarge);
  const auto dense = std::make_shared<Memory>(dense_size);
  stored->memory = {sparse, dense};
  std::size_t sparse_at = 0;
  std::size_t dense_at = 0;
  for (StoredColumn& column : stored->columns) {
    if (column.dense) {
      dense_at = aligned(dense_at, 64);
      column.at = dense->data() + dense_at;
      dense_at += static_cast<std::size_t>(rows) * width(column.storage);
    } else if (column.count == 0) {
      column.at = no_entries();
    } else {
      sparse_at = aligned(sparse_at, width(column.storage) == 8 ? 8 : 4);
      column.at = sparse->data() + sparse_at;
      sparse_at += sparse_bytes(column.storage, column.count);
    }
  }

  parallel_chunks(groups, 1, [&](std::size_t group, std::size_t) {
    auto& tally = tallies[group];
    for (std::size_t part = first_part(group); part < first_part(group + 1); ++part) {
      visit(part, [&](Index i, Index j, double v) {
        const StoredColumn& column = stored->columns[static_cast<std::size_t>(j)];
        auto* values = static_cast<std::byte*>(const_cast<void*>(column.values()));
        if (column.dense) {
          store(values, column.storage, static_cast<std::size_t>(i), v);
          return;
        }
        const std::uint32_t slot = tally[static_cast<std::size_t>(j)].count++;
        const_cast<Index*>(column.rows())[slot] = i;
        store(values, column.storage, slot, v);
      });
      release(part);
    }
  });
  return finished(std::move(stored));
}

}  // namespace parley::linalg
