#include "parley/data/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/core/text.h"
#include "parley/data/labels.h"

namespace parley::data {

namespace {

Result<void> check(const Arrays& arrays, const std::string& name) {
  const auto refuse = [&](const char* field, const char* rule) { return fail(bad_input({name, 0, field}, rule)); };
  const std::size_t rows = arrays.rows(), columns = arrays.columns;
  if (columns < 1) return refuse("columns", "must be at least 1");
  if (rows > static_cast<std::size_t>(std::numeric_limits<linalg::Index>::max()) ||
      columns > static_cast<std::size_t>(std::numeric_limits<linalg::Index>::max()))
    return refuse("values", "has more rows or columns than a table can have");
  if (!arrays.sparse() && arrays.values.size() != rows * columns)
    return refuse("values", "must have one number for each row and column");
  if (!arrays.labels.empty() && arrays.labels.size() != rows) return refuse("labels", "must be one for each row");
  if (!arrays.names.empty() && arrays.names.size() != columns) return refuse("names", "must be one for each column");
  if (!arrays.bounds.empty() && arrays.bounds.size() != columns) return refuse("bounds", "must be one for each column");
  if (!arrays.ids.empty() && arrays.ids.size() != rows) return refuse("ids", "must be one for each row");
  std::vector<std::string> sorted = arrays.names;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return refuse("names", "must differ");
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::all_of(arrays.values.begin(), arrays.values.end(), finite))
    return refuse("values", "must be finite numbers");
  if (!std::all_of(arrays.labels.begin(), arrays.labels.end(), finite))
    return refuse("labels", "must be finite numbers");
  if (!std::all_of(arrays.bounds.begin(), arrays.bounds.end(), [](double bound) { return bound > 0; }))
    return refuse("bounds", "must be above 0");
  if (!arrays.sparse()) return {};
  if (arrays.offsets.front() != 0 || arrays.offsets.back() != arrays.values.size() ||
      arrays.indices.size() != arrays.values.size() || !std::is_sorted(arrays.offsets.begin(), arrays.offsets.end()))
    return refuse("offsets", "must ascend from 0 to the number of entries, which all have an index");
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = arrays.offsets[i]; k < arrays.offsets[i + 1]; ++k)
      if (arrays.indices[k] < 0 || static_cast<std::size_t>(arrays.indices[k]) >= columns ||
          (k > arrays.offsets[i] && arrays.indices[k] <= arrays.indices[k - 1]))
        return refuse("indices", "must ascend in each row, from 0 to the number of columns");
  return {};
}

ColumnNames names_of(const Arrays& arrays) {
  return arrays.names.empty() ? ColumnNames::numbered(1, static_cast<linalg::Index>(arrays.columns))
                              : ColumnNames(arrays.names);
}

// As a schema file would state it.
Schema schema_of(const Arrays& arrays, const LoadOptions& options) {
  Schema schema;
  schema.format = arrays.names.empty() ? Format::kLibsvm : Format::kCsv;
  schema.label_bound = options.label_bound;
  if (arrays.names.empty()) {
    schema.features = static_cast<int>(arrays.columns);
    schema.first_index = 1;
    schema.bound = options.bound;
    return schema;
  }
  for (std::size_t j = 0; j < arrays.columns; ++j) {
    ColumnSchema column{.name = arrays.names[j]};
    const std::optional<double> bound = arrays.bounds.empty() ? options.bound : std::optional(arrays.bounds[j]);
    if (bound && std::isfinite(*bound)) {
      column.lower = -*bound;
      column.upper = *bound;
    }
    schema.columns.push_back(std::move(column));
  }
  return schema;
}

double bound_of(const Arrays& arrays, const LoadOptions& options, std::size_t j) {
  return arrays.bounds.empty() ? options.bound.value_or(kUnbounded) : arrays.bounds[j];
}

// Each value within its column's bound; how many were not.
std::size_t clip(const Arrays& arrays, const LoadOptions& options, std::vector<double>& values, const auto& column_of) {
  std::size_t clipped = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double bound = bound_of(arrays, options, column_of(k));
    if (std::abs(values[k]) <= bound) continue;
    values[k] = std::copysign(bound, values[k]);
    ++clipped;
  }
  return clipped;
}

linalg::Matrix matrix_of(const Arrays& arrays, const LoadOptions& options, std::size_t& clipped) {
  const std::size_t rows = arrays.rows(), columns = arrays.columns;
  if (arrays.sparse()) {
    std::vector<double> values(arrays.values.begin(), arrays.values.end());
    clipped = clip(arrays, options, values, [&](std::size_t k) { return static_cast<std::size_t>(arrays.indices[k]); });
    return linalg::Matrix::from_rows(static_cast<linalg::Index>(columns), arrays.offsets, arrays.indices, values);
  }
  std::vector<double> values(rows * columns);
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t i = 0; i < rows; ++i)
      values[j * rows + i] = arrays.values[arrays.order == Arrays::Order::kByColumns ? j * rows + i : i * columns + j];
  const auto column = [&](std::size_t k) {
    return k / rows;
  };  // NOLINT(clang-analyzer-core.DivideZero): a value has a row
  clipped = clip(arrays, options, values, column);
  return linalg::Matrix::from_dense(static_cast<linalg::Index>(rows), static_cast<linalg::Index>(columns), values);
}

Result<LabelsAndNotes> labels_of(const Arrays& arrays, const std::string& name, const LoadOptions& options,
                                 std::size_t& clipped) {
  if (options.label_use == LabelUse::kNone) return LabelsAndNotes{};
  if (arrays.labels.empty()) {
    if (options.label_use == LabelUse::kOptional) return LabelsAndNotes{};
    return fail(bad_input({name, 0, "labels"}, "are missing: one for each row"));
  }
  RawLabels raw{{arrays.labels.begin(), arrays.labels.end()}, {}};
  Labels before;
  if (options.labels == LabelKind::kReal && options.label_bound)
    clipped += move_to_bounds(raw.values, -*options.label_bound, *options.label_bound, before);
  PARLEY_TRY(LabelsAndNotes made, make_labels(std::move(raw), {.kind = options.labels,
                                                               .positive = options.positive,
                                                               .classes = options.classes,
                                                               .absent_classes = options.absent_classes,
                                                               .place = {name, 0, "labels"}}));
  made.labels.as_read = std::move(before.as_read);
  return made;
}

Result<Dataset> load_arrays(const Arrays& arrays, const std::string& name, const LoadOptions& options) {
  PARLEY_CHECK(check(arrays, name));
  Dataset table;
  table.columns = names_of(arrays);
  if (options.columns && !(*options.columns == table.columns))
    return fail(bad_input({name, 0, "names"}, "are not the columns that are wanted, in their order"));
  table.features = matrix_of(arrays, options, table.clipped);
  PARLEY_TRY(LabelsAndNotes labels, labels_of(arrays, name, options, table.clipped));
  table.labels = std::move(labels.labels);
  table.notes = std::move(labels.notes);
  table.ids = arrays.ids;
  table.schema = schema_of(arrays, options);
  table.columns_are_stated = true;
  if (!arrays.bounds.empty() || options.bound)
    for (std::size_t j = 0; j < arrays.columns; ++j) table.bounds.push_back(bound_of(arrays, options, j));
  if (table.clipped > 0)
    table.notes.push_back(counted(table.clipped, "value beyond its bound was clipped to it",
                                  "values beyond their bound were clipped to it"));
  return table;
}

}  // namespace

std::size_t Arrays::rows() const {
  if (sparse()) return offsets.size() - 1;
  return columns == 0 ? 0 : values.size() / columns;
}

Result<Dataset> Source::load(const LoadOptions& options) const {
  if (const auto* open = std::get_if<OpenBytes>(&from_)) return data::load_from(*open, name_, options);
  if (const auto* arrays = std::get_if<Arrays>(&from_)) return load_arrays(*arrays, name_, options);
  return data::load(name_, options);
}

}  // namespace parley::data
