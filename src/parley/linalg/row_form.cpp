// The row form: a transposition of the sparse columns by counting.
//
// Columns are shared out in ranges; each range counts its entries per row, a scan over rows and ranges
// says where each range writes. Within a row, columns ascend.
#include <algorithm>

#include "parley/core/threads.h"
#include "parley/linalg/matrix.h"
#include "parley/linalg/stored.h"

namespace parley::linalg {

namespace {

struct Counts {
  std::vector<std::uint32_t> ones, valued;  // per row; later where the range's next entry goes, within its row
};

template <class T>
void write_column(const StoredColumn& column, Index number, const T* from, std::byte* to, Storage type, Index* columns,
                  const std::size_t* starts, std::uint32_t* next) {
  const Index* rows = column.rows();
  for (std::size_t k = 0; k < column.count; ++k) {
    const auto i = static_cast<std::size_t>(rows[k]);
    const std::size_t slot = starts[i] + next[i]++;
    columns[slot] = number;
    store(to, type, slot, static_cast<double>(from[k]));
  }
}

}  // namespace

const RowForm& Matrix::make_row_form() const {
  const StoredMatrix& stored = *stored_;
  std::call_once(stored.once, [&] {
    const auto n = static_cast<std::size_t>(rows_);
    const auto& borders = stored.borders;
    // A range per thread, cut at the borders of equal work.
    const std::size_t ranges = std::clamp<std::size_t>(static_cast<std::size_t>(thread_count()), 1, borders.size());
    const auto first = [&](std::size_t range) {
      const std::size_t at = range * borders.size() / ranges;
      return static_cast<std::size_t>(at == 0 ? 0 : borders[at - 1]);
    };
    std::vector<Counts> counts(ranges);
    parallel_chunks(ranges, 1, [&](std::size_t range, std::size_t) {
      counts[range].ones.resize(n);
      counts[range].valued.resize(n);
      for (std::size_t j = first(range); j < first(range + 1); ++j) {
        const StoredColumn& column = stored.columns[j];
        if (column.dense) continue;
        auto& tally = column.storage == Storage::kBinary ? counts[range].ones : counts[range].valued;
        const Index* rows = column.rows();
        for (std::size_t k = 0; k < column.count; ++k) ++tally[static_cast<std::size_t>(rows[k])];
      }
    });

    Storage storage = Storage::kInt8;
    for (const StoredColumn& column : stored.columns)
      if (!column.dense && column.count > 0) storage = std::max(storage, column.storage);
    std::size_t ones = 0, valued = 0;
    for (const Counts& tally : counts) {
      for (const std::uint32_t c : tally.ones) ones += c;
      for (const std::uint32_t c : tally.valued) valued += c;
    }
    const std::size_t ones_at = (n + 1) * sizeof(std::size_t);
    const std::size_t values = 2 * ones_at;
    const std::size_t one_columns = values + valued * width(storage);
    const std::size_t value_columns = aligned(one_columns, sizeof(Index)) + ones * sizeof(Index);
    stored.row_memory = Memory(value_columns + valued * sizeof(Index));
    std::byte* base = stored.row_memory.data();
    auto* one_starts = reinterpret_cast<std::size_t*>(base);
    auto* value_starts = reinterpret_cast<std::size_t*>(base + ones_at);
    auto* one_list = reinterpret_cast<Index*>(base + aligned(one_columns, sizeof(Index)));
    auto* value_list = reinterpret_cast<Index*>(base + value_columns);
    for (std::size_t i = 0; i < n; ++i) {
      std::uint32_t one_count = 0, value_count = 0;
      for (Counts& tally : counts) {
        one_count += std::exchange(tally.ones[i], one_count);
        value_count += std::exchange(tally.valued[i], value_count);
      }
      one_starts[i + 1] = one_starts[i] + one_count;
      value_starts[i + 1] = value_starts[i] + value_count;
    }

    parallel_chunks(ranges, 1, [&](std::size_t range, std::size_t) {
      for (std::size_t j = first(range); j < first(range + 1); ++j) {
        const StoredColumn& column = stored.columns[j];
        if (column.dense || column.count == 0) continue;
        if (column.storage == Storage::kBinary) {
          const Index* rows = column.rows();
          auto& next = counts[range].ones;
          for (std::size_t k = 0; k < column.count; ++k) {
            const auto i = static_cast<std::size_t>(rows[k]);
            one_list[one_starts[i] + next[i]++] = static_cast<Index>(j);
          }
          continue;
        }
        with_values(column.storage, column.values(), [&](const auto* from) {
          write_column(column, static_cast<Index>(j), from, base + values, storage, value_list, value_starts,
                       counts[range].valued.data());
        });
      }
    });
    stored.form = {.ones_at = one_starts,
                   .ones = one_list,
                   .values_at = value_starts,
                   .columns = value_list,
                   .values = base + values,
                   .storage = storage,
                   .dense = stored.dense,
                   .dense_by_number = stored.dense_by_number,
                   .dense_ascends =
                       std::is_sorted(stored.dense.begin(), stored.dense.end(),
                                      [](const DenseColumn& a, const DenseColumn& b) { return a.column < b.column; })};
    stored.row_form.store(&stored.form, std::memory_order_release);
  });
  return stored.form;
}

}  // namespace parley::linalg
