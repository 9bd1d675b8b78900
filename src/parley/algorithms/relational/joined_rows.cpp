#include "parley/algorithms/relational/joined_rows.h"

#include <algorithm>

namespace parley::algorithms {

using linalg::Index;

namespace {

// With the number of classes known to the compiler where it is 1.
template <class F>
void for_classes(std::size_t classes, F&& f) {
  if (classes == 1)
    f(std::integral_constant<std::size_t, 1>{});
  else
    f(classes);
}

}  // namespace

std::vector<JoinedTable> joined_tables(const data::JoinMap& map) {
  std::vector<JoinedTable> tables(map.tuple_of.size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    JoinedTable& table = tables[i];
    const std::vector<std::int32_t>& tuple_of = map.tuple_of[i];
    std::vector<Index> uses(static_cast<std::size_t>(map.tuples[i]), 0);
    for (const std::int32_t tuple : tuple_of)
      if (tuple >= 0) ++uses[static_cast<std::size_t>(tuple)];
    std::vector<Index> slot_of(uses.size(), -1);
    for (std::size_t tuple = 0; tuple < uses.size(); ++tuple) {
      if (uses[tuple] == 0) continue;
      slot_of[tuple] = static_cast<Index>(table.tuples.size());
      table.tuples.push_back(static_cast<Index>(tuple));
      table.uses.push_back(uses[tuple]);
    }
    table.slots.resize(tuple_of.size());
    std::transform(tuple_of.begin(), tuple_of.end(), table.slots.begin(), [&](std::int32_t tuple) {
      return tuple < 0 ? Index{-1} : slot_of[static_cast<std::size_t>(tuple)];
    });
  }
  return tables;
}

void add_values(const JoinedTable& table, std::span<const double> values, std::size_t classes, RowRange rows,
                std::span<double> sums) {
  for_classes(classes, [&](auto width) {
    for (std::size_t j = rows.begin; j < rows.end; ++j) {
      const Index slot = table.slots[j];
      if (slot < 0) continue;
      const double* value = values.data() + static_cast<std::size_t>(slot) * width;
      double* sum = sums.data() + (j - rows.begin) * width;
      for (std::size_t k = 0; k < width; ++k) sum[k] += value[k];
    }
  });
}

void sum_by_slot(const JoinedTable& table, std::span<const double> by_row, std::size_t classes, std::span<double> out) {
  std::fill(out.begin(), out.end(), 0.0);
  for_classes(classes, [&](auto width) {
    for (std::size_t j = 0; j < table.slots.size(); ++j) {
      const Index slot = table.slots[j];
      if (slot < 0) continue;
      double* sum = out.data() + static_cast<std::size_t>(slot) * width;
      for (std::size_t k = 0; k < width; ++k) sum[k] += by_row[j * width + k];
    }
  });
}

}  // namespace parley::algorithms
