#include "parley/linalg/matrix.h"

#include <algorithm>
#include <cassert>

#include "parley/linalg/assemble.h"
#include "parley/linalg/stored.h"

namespace parley::linalg {

namespace {

// The matrix without rows and columns, which every default-constructed or moved-from one shares.
const std::shared_ptr<const StoredMatrix>& nothing() {
  static const std::shared_ptr<const StoredMatrix> empty = finished(std::make_shared<StoredMatrix>());
  return empty;
}

}  // namespace

Matrix::Matrix() : Matrix(nothing()) {}

Matrix::Matrix(std::shared_ptr<const StoredMatrix> stored, std::vector<double> scale)
    : stored_(std::move(stored)),
      rows_(stored_->rows),
      cols_(stored_->cols),
      columns_(stored_->columns.data()),
      row_form_(&stored_->row_form),
      scale_(std::move(scale)) {}

Matrix::Matrix(const Matrix&) = default;
Matrix& Matrix::operator=(const Matrix&) = default;
Matrix::~Matrix() = default;

Matrix::Matrix(Matrix&& other) noexcept : Matrix() {
  *this = std::move(other);
}

Matrix& Matrix::operator=(Matrix&& other) noexcept {
  std::swap(stored_, other.stored_);
  std::swap(rows_, other.rows_);
  std::swap(cols_, other.cols_);
  std::swap(columns_, other.columns_);
  std::swap(row_form_, other.row_form_);
  std::swap(scale_, other.scale_);
  return *this;
}

Matrix Matrix::from_rows(Index cols, std::span<const std::size_t> offsets, std::span<const Index> columns,
                         std::span<const double> values) {
  assert(!offsets.empty() && columns.size() == values.size() && offsets.back() <= values.size());
  constexpr std::size_t kRows = 4096;
  const std::size_t rows = offsets.size() - 1;
  const auto visit = [&](std::size_t part, const auto& f) {
    for (std::size_t i = part * kRows; i < std::min(rows, (part + 1) * kRows); ++i)
      for (std::size_t k = offsets[i]; k < offsets[i + 1]; ++k)
        if (values[k] != 0.0) f(static_cast<Index>(i), columns[k], values[k]);
  };
  return Matrix(assemble_rows(static_cast<Index>(rows), cols, chunk_count(rows, kRows), visit, [](std::size_t) {}));
}

Matrix Matrix::from_dense(Index rows, Index cols, std::span<const double> column_major) {
  const auto n = static_cast<std::size_t>(rows);
  assert(column_major.size() == n * static_cast<std::size_t>(cols));
  ColumnStore columns(rows);
  for (std::size_t j = 0; j < static_cast<std::size_t>(cols); ++j) columns.add(column_major.subspan(j * n, n));
  return Matrix(std::move(columns).build());
}

std::size_t Matrix::nonzeros() const {
  return stored_->nonzeros;
}

std::size_t Matrix::bytes() const {
  std::size_t bytes = stored_->columns.size() * sizeof(StoredColumn) + stored_->dense.size() * sizeof(DenseColumn) +
                      stored_->row_form_bytes + scale_.size() * sizeof(double);
  for (const StoredColumn& column : stored_->columns)
    bytes += column.dense ? static_cast<std::size_t>(rows_) * width(column.storage)
                          : sparse_bytes(column.storage, column.count);
  return bytes;
}

std::span<const DenseColumn> Matrix::dense_columns() const {
  return stored_->dense;
}

double Matrix::at(Index i, Index j) const {
  const ColumnView view = column(j);
  if (view.rows == nullptr && view.count > 0) return view.scale * stored_value(view, static_cast<std::size_t>(i));
  const Index* end = view.rows + view.count;
  const Index* found = std::lower_bound(view.rows, end, i);
  return found != end && *found == i ? view.scale * stored_value(view, static_cast<std::size_t>(found - view.rows))
                                     : 0.0;
}

std::vector<RowEntry> Matrix::row(Index i) const {
  std::vector<RowEntry> entries;
  for_each_in_row(i, [&](Index j, double v) { entries.push_back({j, v}); });
  return entries;
}

double Matrix::column_squared_norm(Index j) const {
  const ColumnView view = column(j);
  if (view.storage == Storage::kBinary) return view.scale * view.scale * static_cast<double>(view.count);
  double sum = 0;
  with_values(view.storage, view.values, [&](const auto* values) {
    for (std::size_t k = 0; k < view.count; ++k) {
      const auto v = static_cast<double>(values[k]);
      sum += v * v;
    }
  });
  return view.scale * view.scale * sum;
}

double Matrix::row_squared_norm(Index i) const {
  double sum = 0;
  for_each_in_row_by_kind(i, [&](Index, double v) { sum += v * v; });
  return sum;
}

std::vector<double> Matrix::column_squared_norms() const {
  std::vector<double> norms(static_cast<std::size_t>(cols_));
  const auto& borders = stored_->borders;
  parallel_chunks(borders.size(), 1, [&](std::size_t range, std::size_t) {
    for (Index j = range == 0 ? 0 : borders[range - 1]; j < borders[range]; ++j)
      norms[static_cast<std::size_t>(j)] = column_squared_norm(j);
  });
  return norms;
}

std::vector<double> Matrix::row_squared_norms() const {
  std::vector<double> norms(static_cast<std::size_t>(rows_));
  (void)row_form();
  parallel_chunks(norms.size(), 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) norms[i] = row_squared_norm(static_cast<Index>(i));
  });
  return norms;
}

Matrix Matrix::select_rows(std::span<const Index> chosen) const {
  // places[starts[i], starts[i+1]) are the new numbers of old row i, ascending.
  std::vector<std::size_t> starts(static_cast<std::size_t>(rows_) + 1);
  for (const Index i : chosen) ++starts[static_cast<std::size_t>(i) + 1];
  for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  std::vector<Index> places(chosen.size());
  {
    std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
    for (std::size_t k = 0; k < chosen.size(); ++k)
      places[next[static_cast<std::size_t>(chosen[k])]++] = static_cast<Index>(k);
  }
  ColumnStore columns(static_cast<Index>(chosen.size()));
  std::vector<RowEntry> entries;  // here `column` is the new row
  std::vector<Index> rows;
  std::vector<double> values;
  for (Index j = 0; j < cols_; ++j) {
    ColumnView view = column(j);
    rows.clear();
    values.clear();
    if (view.rows == nullptr && view.count > 0) {
      for (const Index i : chosen) values.push_back(stored_value(view, static_cast<std::size_t>(i)));
      columns.add(values);
      continue;
    }
    entries.clear();
    for (std::size_t k = 0; k < view.count; ++k) {
      const auto i = static_cast<std::size_t>(view.rows[k]);
      for (std::size_t p = starts[i]; p < starts[i + 1]; ++p) entries.push_back({places[p], stored_value(view, k)});
    }
    const auto by_row = [](const RowEntry& a, const RowEntry& b) { return a.column < b.column; };
    if (!std::is_sorted(entries.begin(), entries.end(), by_row)) std::sort(entries.begin(), entries.end(), by_row);
    for (const RowEntry& entry : entries) {
      rows.push_back(entry.column);
      values.push_back(entry.value);
    }
    columns.add(rows, values);
  }
  return Matrix(std::move(columns).build(), scale_);
}

Matrix Matrix::select_columns(std::span<const Index> chosen) const {
  auto stored = std::make_shared<StoredMatrix>();
  stored->rows = rows_;
  stored->memory = stored_->memory;
  std::vector<double> scale;
  for (const Index j : chosen) {
    stored->columns.push_back(columns_[j]);
    if (!scale_.empty()) scale.push_back(scale_of(j));
  }
  return Matrix(finished(std::move(stored)), std::move(scale));
}

Matrix Matrix::with_column_scale(std::vector<double> scale) const {
  assert(scale.empty() || scale.size() == static_cast<std::size_t>(cols_));
  return Matrix(stored_, std::move(scale));
}

Matrix Matrix::with_stored_values(const std::function<double(Index, Index, double)>& f) const {
  ColumnStore columns(rows_);
  std::vector<double> values;
  const Matrix plain(stored_);
  for (Index j = 0; j < cols_; ++j) {
    const ColumnView view = column(j);
    values.clear();
    plain.for_each_in_column(j, [&](Index i, double v) { values.push_back(f(i, j, v)); });
    if (view.rows == nullptr && view.count > 0)
      columns.add(values);
    else
      columns.add(std::span(view.rows, view.count), values);
  }
  return Matrix(std::move(columns).build(), scale_);
}

Matrix Matrix::with_scaled_rows(std::span<const double> factors) const {
  assert(factors.size() == static_cast<std::size_t>(rows_));
  return with_stored_values([&](Index i, Index, double v) { return v * factors[static_cast<std::size_t>(i)]; });
}

}  // namespace parley::linalg
