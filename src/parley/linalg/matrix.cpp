#include "parley/linalg/matrix.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "parley/core/threads.h"

namespace parley::linalg {

namespace {

struct StoredColumn {
  Storage storage = Storage::kBinary;
  bool sparse = true;
  std::size_t count = 0;
  std::size_t rows_at = 0;    // index into Stored::row_numbers
  std::size_t values_at = 0;  // byte offset into Stored::values
};

std::size_t width(Storage storage) {
  switch (storage) {
    case Storage::kBinary: return 0;
    case Storage::kInt8: return 1;
    case Storage::kInt16: return 2;
    case Storage::kFloat32: return 4;
    case Storage::kFloat64: return 8;
  }
  return 8;
}

void store(std::byte* at, Storage storage, double value) {
  const auto put = [&](auto typed) { std::memcpy(at, &typed, sizeof typed); };
  switch (storage) {
    case Storage::kBinary: return;
    case Storage::kInt8: return put(static_cast<std::int8_t>(value));
    case Storage::kInt16: return put(static_cast<std::int16_t>(value));
    case Storage::kFloat32: return put(static_cast<float>(value));
    case Storage::kFloat64: return put(value);
  }
}

// A column with more than this share of nonzeros is stored dense: a vectorised pass over all rows
// then beats an index per entry.
constexpr double kDenseShare = 0.3;

}  // namespace

Storage smallest_storage(double value) {
  if (value == 1.0) return Storage::kBinary;
  if (value == 0.0) return std::signbit(value) ? Storage::kFloat32 : Storage::kBinary;
  if (std::nearbyint(value) == value && std::abs(value) <= 32767)
    return std::abs(value) <= 127 ? Storage::kInt8 : Storage::kInt16;
  const float narrow = static_cast<float>(value);
  return static_cast<double>(narrow) == value ? Storage::kFloat32 : Storage::kFloat64;
}

struct Matrix::Stored {
  Index rows = 0;
  Index cols = 0;
  std::size_t nonzeros = 0;
  std::vector<StoredColumn> columns;
  std::vector<Index> row_numbers;
  std::vector<std::byte> values;
  // Row form of everything.
  std::vector<std::size_t> offsets;
  std::vector<Index> row_columns;
  std::vector<double> row_values;
};

Matrix::Matrix() : stored_(std::make_shared<Stored>()) {}
Matrix::Matrix(std::shared_ptr<const Stored> stored, std::vector<double> scale)
    : stored_(std::move(stored)), scale_(std::move(scale)) {}
Matrix::Matrix(const Matrix&) = default;
Matrix::Matrix(Matrix&&) noexcept = default;
Matrix& Matrix::operator=(const Matrix&) = default;
Matrix& Matrix::operator=(Matrix&&) noexcept = default;
Matrix::~Matrix() = default;

Matrix Matrix::from_rows(Index cols, std::span<const std::size_t> offsets, std::span<const Index> columns,
                         std::span<const double> values) {
  auto stored = std::make_shared<Stored>();
  stored->rows = static_cast<Index>(offsets.size()) - 1;
  stored->cols = cols;
  stored->columns.resize(static_cast<std::size_t>(cols));
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    for (std::size_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      if (values[k] == 0.0) continue;
      auto& column = stored->columns[static_cast<std::size_t>(columns[k])];
      ++column.count;
      ++stored->nonzeros;
      column.storage = std::max(column.storage, smallest_storage(values[k]));
    }
  std::size_t rows_at = 0;
  std::size_t values_at = 0;
  for (auto& column : stored->columns) {
    column.sparse = static_cast<double>(column.count) <= kDenseShare * stored->rows;
    if (!column.sparse) {
      column.count = static_cast<std::size_t>(stored->rows);
      column.storage = std::max(column.storage, Storage::kInt8);
    }
    values_at = (values_at + 7) / 8 * 8;
    column.rows_at = rows_at;
    column.values_at = values_at;
    rows_at += column.sparse ? column.count : 0;
    values_at += column.count * width(column.storage);
  }
  stored->row_numbers.resize(rows_at);
  stored->values.resize(values_at);
  std::vector<std::size_t> filled(stored->columns.size());
  stored->offsets.push_back(0);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    for (std::size_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      if (values[k] == 0.0) continue;
      const auto j = static_cast<std::size_t>(columns[k]);
      const auto& column = stored->columns[j];
      const std::size_t slot = column.sparse ? filled[j]++ : i;
      if (column.sparse) stored->row_numbers[column.rows_at + slot] = static_cast<Index>(i);
      store(stored->values.data() + column.values_at + slot * width(column.storage), column.storage, values[k]);
      stored->row_columns.push_back(columns[k]);
      stored->row_values.push_back(values[k]);
    }
    stored->offsets.push_back(stored->row_columns.size());
  }
  return Matrix(std::move(stored));
}

Matrix Matrix::from_dense(Index rows, Index cols, std::span<const double> column_major) {
  assert(column_major.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
  std::vector<std::size_t> offsets{0};
  std::vector<Index> columns;
  std::vector<double> values;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) {
      const double v = column_major[static_cast<std::size_t>(j) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(i)];
      if (v == 0.0) continue;
      columns.push_back(j);
      values.push_back(v);
    }
    offsets.push_back(columns.size());
  }
  return from_rows(cols, offsets, columns, values);
}

Index Matrix::rows() const { return stored_->rows; }
Index Matrix::cols() const { return stored_->cols; }
std::size_t Matrix::nonzeros() const { return stored_->nonzeros; }
std::size_t Matrix::bytes() const {
  return stored_->row_numbers.size() * sizeof(Index) + stored_->values.size() +
         stored_->columns.size() * sizeof(StoredColumn) + stored_->offsets.size() * sizeof(std::size_t) +
         stored_->row_columns.size() * (sizeof(Index) + sizeof(double));
}

ColumnView Matrix::column(Index j) const {
  const auto at = static_cast<std::size_t>(j);
  const StoredColumn& c = stored_->columns[at];
  return {c.storage, c.count, c.sparse ? stored_->row_numbers.data() + c.rows_at : nullptr,
          c.storage == Storage::kBinary ? nullptr : stored_->values.data() + c.values_at,
          scale_.empty() ? 1.0 : scale_[at]};
}

double Matrix::at(Index i, Index j) const {
  double found = 0;
  for_each_in_column(j, [&](Index r, double v) { if (r == i) found = v; });
  return found;
}

std::vector<RowEntry> Matrix::row(Index i) const {
  std::vector<RowEntry> entries;
  for (std::size_t k = stored_->offsets[static_cast<std::size_t>(i)]; k < stored_->offsets[static_cast<std::size_t>(i) + 1]; ++k) {
    const Index j = stored_->row_columns[k];
    entries.push_back({j, stored_->row_values[k] * (scale_.empty() ? 1.0 : scale_[static_cast<std::size_t>(j)])});
  }
  return entries;
}

void Matrix::multiply(std::span<const double> w, std::span<double> out) const {
  for (Index i = 0; i < rows(); ++i) out[static_cast<std::size_t>(i)] = row_dot(i, w);
}

void Matrix::multiply_transposed(std::span<const double> r, std::span<double> out) const {
  for (Index j = 0; j < cols(); ++j) out[static_cast<std::size_t>(j)] = column_dot(j, r);
}

void Matrix::multiply(std::span<const double> weights, int classes, std::span<double> margins) const {
  const auto count = static_cast<std::size_t>(classes);
  const auto d = static_cast<std::size_t>(cols());
  for (Index i = 0; i < rows(); ++i)
    for (std::size_t k = 0; k < count; ++k)
      margins[static_cast<std::size_t>(i) * count + k] = row_dot(i, weights.subspan(k * d, d));
}

void Matrix::multiply_transposed(std::span<const double> margins, int classes, std::span<double> weights) const {
  const auto count = static_cast<std::size_t>(classes);
  const auto d = static_cast<std::size_t>(cols());
  std::fill(weights.begin(), weights.end(), 0.0);
  for (Index j = 0; j < cols(); ++j)
    for_each_in_column(j, [&](Index i, double v) {
      for (std::size_t k = 0; k < count; ++k)
        weights[k * d + static_cast<std::size_t>(j)] += v * margins[static_cast<std::size_t>(i) * count + k];
    });
}

double Matrix::column_dot(Index j, std::span<const double> r) const {
  double sum = 0;
  for_each_in_column(j, [&](Index i, double v) { sum += v * r[static_cast<std::size_t>(i)]; });
  return sum;
}

void Matrix::column_axpy(Index j, double a, std::span<double> r) const {
  for_each_in_column(j, [&](Index i, double v) { r[static_cast<std::size_t>(i)] += a * v; });
}

double Matrix::row_dot(Index i, std::span<const double> w) const {
  double sum = 0;
  for_each_in_row(i, [&](Index j, double v) { sum += v * w[static_cast<std::size_t>(j)]; });
  return sum;
}

void Matrix::row_axpy(Index i, double a, std::span<double> w) const {
  for_each_in_row(i, [&](Index j, double v) { w[static_cast<std::size_t>(j)] += a * v; });
}

double Matrix::column_squared_norm(Index j) const {
  double sum = 0;
  for_each_in_column(j, [&](Index, double v) { sum += v * v; });
  return sum;
}

double Matrix::row_squared_norm(Index i) const {
  double sum = 0;
  for_each_in_row(i, [&](Index, double v) { sum += v * v; });
  return sum;
}

std::vector<double> Matrix::column_squared_norms() const {
  std::vector<double> norms(static_cast<std::size_t>(cols()));
  for (Index j = 0; j < cols(); ++j) norms[static_cast<std::size_t>(j)] = column_squared_norm(j);
  return norms;
}

std::vector<double> Matrix::row_squared_norms() const {
  std::vector<double> norms(static_cast<std::size_t>(rows()));
  for (Index i = 0; i < rows(); ++i) norms[static_cast<std::size_t>(i)] = row_squared_norm(i);
  return norms;
}

Matrix Matrix::select_rows(std::span<const Index> chosen) const {
  std::vector<std::size_t> offsets{0};
  std::vector<Index> columns;
  std::vector<double> values;
  const Matrix plain(stored_);
  for (const Index i : chosen) {
    plain.for_each_in_row(i, [&](Index j, double v) { columns.push_back(j); values.push_back(v); });
    offsets.push_back(columns.size());
  }
  Matrix result = from_rows(cols(), offsets, columns, values);
  result.scale_ = scale_;
  return result;
}

Matrix Matrix::select_columns(std::span<const Index> chosen) const {
  std::vector<double> dense(static_cast<std::size_t>(rows()) * chosen.size());
  std::vector<double> scale;
  const Matrix plain(stored_);
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    plain.for_each_in_column(chosen[c], [&](Index i, double v) { dense[c * static_cast<std::size_t>(rows()) + static_cast<std::size_t>(i)] = v; });
    if (!scale_.empty()) scale.push_back(scale_[static_cast<std::size_t>(chosen[c])]);
  }
  Matrix result = from_dense(rows(), static_cast<Index>(chosen.size()), dense);
  result.scale_ = std::move(scale);
  return result;
}

Matrix Matrix::with_column_scale(std::vector<double> scale) const {
  assert(scale.empty() || scale.size() == static_cast<std::size_t>(cols()));
  return Matrix(stored_, std::move(scale));
}

Matrix Matrix::with_scaled_rows(std::span<const double> factors) const {
  std::vector<std::size_t> offsets{0};
  std::vector<Index> columns;
  std::vector<double> values;
  const Matrix plain(stored_);
  for (Index i = 0; i < rows(); ++i) {
    plain.for_each_in_row(i, [&](Index j, double v) { columns.push_back(j); values.push_back(v * factors[static_cast<std::size_t>(i)]); });
    offsets.push_back(columns.size());
  }
  Matrix result = from_rows(cols(), offsets, columns, values);
  result.scale_ = scale_;
  return result;
}

}  // namespace parley::linalg
