// Levels of categories and labels that nobody listed: found chunk by chunk, and put in one order.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "parley/data/csv_plan.h"
#include "parley/data/csv_rows.h"
#include "parley/data/labels.h"

namespace parley::data {

// Levels of an open category over all chunks, and what each chunk's codes become.
struct MergedLevels {
  std::vector<std::string> names;
  std::vector<std::vector<linalg::Index>> code_of;  // by chunk, then by the chunk's code
};

template <class TableOf, class NameOf>
MergedLevels merge_levels(const std::vector<CsvChunk>& chunks, const TableOf& table_of, const NameOf& name_of) {
  LevelTable all;
  MergedLevels merged;
  for (const auto& chunk : chunks) {
    std::vector<linalg::Index> codes;
    for (const auto& level : table_of(chunk).names()) codes.push_back(all.add(name_of(level)));
    merged.code_of.push_back(std::move(codes));
  }
  const std::vector<std::size_t> order = level_order(all.names());
  std::vector<linalg::Index> place(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    place[order[k]] = static_cast<linalg::Index>(k);
    merged.names.push_back(all.names()[order[k]]);
  }
  for (auto& codes : merged.code_of)
    for (linalg::Index& code : codes) code = place[static_cast<std::size_t>(code)];
  return merged;
}

// Levels of fewer rows than the schema's min_count become its rare ones, whose codes follow those of the others; what was
// found is stated from then on. `rows`: of each level, by its code.
void put_rare_last(const std::vector<std::size_t>& rows, ColumnSchema& declared, MergedLevels& merged);

// Classes that are listed but have no row must not hide that only one class is there.
void drop_absent_classes(RawLabels& raw);

}  // namespace parley::data
