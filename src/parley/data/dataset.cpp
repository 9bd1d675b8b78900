#include "parley/data/dataset.h"

#include <algorithm>
#include <charconv>

namespace parley::data {

ColumnNames ColumnNames::numbered(linalg::Index first, linalg::Index count) {
  ColumnNames names;
  names.first_ = first;
  names.count_ = count;
  return names;
}

ColumnNames ColumnNames::numbered(std::vector<linalg::Index> numbers) {
  ColumnNames names;
  names.count_ = static_cast<linalg::Index>(numbers.size());
  names.numbers_ = std::move(numbers);
  return names;
}

std::size_t ColumnNames::size() const {
  return count_ > 0 ? static_cast<std::size_t>(count_) : names_.size();
}

std::string ColumnNames::operator[](std::size_t j) const {
  if (count_ == 0) return names_[j];
  return "x" + std::to_string(numbers_.empty() ? first_ + static_cast<linalg::Index>(j) : numbers_[j]);
}

std::vector<std::string> ColumnNames::list() const {
  std::vector<std::string> all;
  all.reserve(size());
  for (std::size_t j = 0; j < size(); ++j) all.push_back((*this)[j]);
  return all;
}

std::optional<linalg::Index> ColumnNames::find_number(linalg::Index number) const {
  if (count_ == 0) return std::nullopt;
  if (numbers_.empty()) {
    if (number < first_ || number - first_ >= count_) return std::nullopt;
    return number - first_;
  }
  const auto at = std::lower_bound(numbers_.begin(), numbers_.end(), number);
  if (at == numbers_.end() || *at != number) return std::nullopt;
  return static_cast<linalg::Index>(at - numbers_.begin());
}

std::optional<linalg::Index> ColumnNames::find(std::string_view name) const {
  if (count_ == 0) {
    const auto at = std::find(names_.begin(), names_.end(), name);
    if (at == names_.end()) return std::nullopt;
    return static_cast<linalg::Index>(at - names_.begin());
  }
  linalg::Index number = 0;
  if (name.size() < 2 || name[0] != 'x') return std::nullopt;
  const auto [stop, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  if (error != std::errc() || stop != name.data() + name.size()) return std::nullopt;
  return find_number(number);
}

bool ColumnNames::operator==(const ColumnNames& other) const {
  if (size() != other.size()) return false;
  for (std::size_t j = 0; j < size(); ++j)
    if ((*this)[j] != other[j]) return false;
  return true;
}

const KeyText* Dataset::key(std::string_view column) const {
  const auto at = std::find_if(keys.begin(), keys.end(), [&](const KeyText& key) { return key.column() == column; });
  return at == keys.end() ? nullptr : &*at;
}

Dataset Dataset::select_rows(const std::vector<linalg::Index>& rows) const {
  Dataset chosen;
  chosen.features = features.select_rows(rows);
  chosen.columns = columns;
  chosen.bounds = bounds;
  chosen.labels.classes = labels.classes;
  for (const linalg::Index i : rows) {
    if (!labels.values.empty()) chosen.labels.values.push_back(labels.values[static_cast<std::size_t>(i)]);
    if (!labels.as_read.empty()) chosen.labels.as_read.push_back(labels.as_read[static_cast<std::size_t>(i)]);
    if (!weights.empty()) chosen.weights.push_back(weights[static_cast<std::size_t>(i)]);
    if (!ids.empty()) chosen.ids.push_back(ids[static_cast<std::size_t>(i)]);
  }
  for (const KeyText& key : keys) chosen.keys.push_back(key.select(rows));
  chosen.notes = notes;
  chosen.schema = schema;
  chosen.columns_are_stated = columns_are_stated;
  return chosen;
}

}  // namespace parley::data
