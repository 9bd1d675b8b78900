#include "parley/models/joined_margins.h"

#include <algorithm>

namespace parley::models {

Result<JoinedMargins> margins_over_join(std::span<const Trained> parts, std::span<const data::Dataset* const> tables) {
  const JoinOfParts& join = *parts.front().part->join;
  PARLEY_TRY(const data::JoinMap map, join_tables(join, tables));
  const std::size_t outputs = parts.front().model.outputs(), rows = map.rows();
  JoinedMargins all{std::vector<double>(outputs * rows, 0.0), {}, {}};
  std::vector<std::size_t> first(join.spec.tables.size(), 0);  // tuple of the table's next part
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const auto table = static_cast<std::size_t>(join.table_of_part[p]);
    const std::size_t begin = first[table], tuples = tables[p]->rows();
    first[table] += tuples;
    PARLEY_TRY(const std::vector<double> margins, parts[p].model.margins(tables[p]->features));
    const auto later = join.table_of_part.begin() + static_cast<std::ptrdiff_t>(p) + 1;
    const bool last = std::find(later, join.table_of_part.end(), static_cast<int>(table)) == join.table_of_part.end();
    const bool labels = static_cast<int>(table) == join.label_table;
    if (labels && !tables[p]->labels.values.empty()) all.labels.resize(rows);
    if (labels && !tables[p]->ids.empty()) all.ids.resize(rows);
    for (std::size_t j = 0; j < rows; ++j) {
      const std::int32_t tuple = map.tuple_of[table][j];
      if (tuple < 0 && last && !parts[p].part->without_tuple.empty())
        for (std::size_t k = 0; k < outputs; ++k) all.margins[k * rows + j] += parts[p].part->without_tuple[k];
      const auto at = static_cast<std::size_t>(tuple) - begin;
      if (tuple < 0 || static_cast<std::size_t>(tuple) < begin || at >= tuples) continue;
      for (std::size_t k = 0; k < outputs; ++k) all.margins[k * rows + j] += margins[k * tuples + at];
      if (labels && !all.labels.empty()) all.labels[j] = tables[p]->labels.truth()[at];
      if (labels && !all.ids.empty()) all.ids[j] = tables[p]->ids[at];
    }
  }
  return all;
}

}  // namespace parley::models
