#include "parley/data/csv_levels.h"

namespace parley::data {

void put_rare_last(const std::vector<std::size_t>& rows, ColumnSchema& declared, MergedLevels& merged) {
  const auto is_rare = [&](std::size_t k) { return rows[k] < static_cast<std::size_t>(declared.min_count); };
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (!is_rare(k)) declared.levels.push_back(merged.names[k]);
  std::vector<linalg::Index> place(rows.size());
  for (std::size_t k = 0, kept = 0; k < rows.size(); ++k) {
    place[k] = static_cast<linalg::Index>(is_rare(k) ? declared.levels.size() + declared.rare.size() : kept++);
    if (is_rare(k)) declared.rare.push_back(merged.names[k]);
  }
  for (auto& codes : merged.code_of)
    for (linalg::Index& code : codes) code = place[static_cast<std::size_t>(code)];
  if (declared.unknown != UnknownLevel::kIgnore) declared.unknown = UnknownLevel::kOther;
  declared.min_count = 0;
}

void drop_absent_classes(RawLabels& raw) {
  std::vector<double> place(raw.names.size(), -1);
  std::vector<std::string> present;
  for (double& value : raw.values) {
    double& at = place[static_cast<std::size_t>(value)];
    if (at < 0) {
      at = static_cast<double>(present.size());
      present.push_back(raw.names[static_cast<std::size_t>(value)]);
    }
    value = at;
  }
  raw.names = std::move(present);
}

}  // namespace parley::data
