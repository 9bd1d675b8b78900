#include "parley/models/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "parley/core/text.h"
#include "parley/linalg/stored.h"

namespace parley::models {

using linalg::Index;
using linalg::Matrix;

namespace {

// Centred columns have no zeros: more cells than this would not fit where sparse data did.
constexpr double kMostCentredCells = 4e8;

Result<void> standardize(const data::Dataset& training, glm::Model& model) {
  const Matrix& x = training.features;
  const auto n = static_cast<double>(x.rows());
  for (Index j = 0; j < x.cols(); ++j) {
    double sum = 0;
    x.for_each_in_column(j, [&](Index, double value) { sum += value; });
    const double mean = sum / n;
    double squares = 0;
    double stored = 0;
    x.for_each_in_column(j, [&](Index, double value) {
      squares += (value - mean) * (value - mean);
      stored += 1;
    });
    squares += (n - stored) * mean * mean;  // the zeros that are not stored
    const double deviation = std::sqrt(squares / n);
    if (!(deviation > 1e-12 * std::abs(mean)))
      return fail(bad_input(
          {.field = training.columns[static_cast<std::size_t>(j)]},
          "is constant, so it cannot be standardized; leave it out (type = \"ignore\") or use scale = \"bounds\"",
          fmt::format("{}", mean)));
    model.centers.push_back(mean);
    model.scales.push_back(1.0 / deviation);
  }
  return {};
}

// (x - m) / h in place of x / B, where the schema says so. Whether any column is.
bool center_by_bounds(const data::Dataset& training, glm::Model& model) {
  for (const data::ColumnSchema& column : training.schema.columns) {
    const std::optional<double> middle = column.middle();
    const std::optional<Index> at = middle ? training.columns.find(column.name) : std::nullopt;
    if (!at || model.scales.empty()) continue;
    model.centers.resize(model.scales.size(), 0.0);
    model.centers[static_cast<std::size_t>(*at)] = *middle;
    model.scales[static_cast<std::size_t>(*at)] = 1.0 / column.half_range();
  }
  return !model.centers.empty();
}

// Columns without a center stay as they are stored, and the scale stays apart from what is stored.
Matrix with_some_centred(const glm::Model& model, const Matrix& raw) {
  linalg::ColumnStore store(raw.rows());
  const Matrix plain = raw.with_column_scale({});
  std::vector<double> dense;
  std::vector<Index> rows;
  std::vector<double> values;
  for (Index j = 0; j < raw.cols(); ++j) {
    const double center = model.centers[static_cast<std::size_t>(j)];
    const linalg::ColumnView view = plain.column(j);
    if (center == 0 && view.storage == linalg::Storage::kBinary) {
      store.add_binary({view.rows, view.count});
    } else if (center == 0 && view.rows != nullptr) {
      rows.assign(view.rows, view.rows + view.count);
      values.clear();
      plain.for_each_in_column(j, [&](Index, double value) { values.push_back(value); });
      store.add(rows, values);
    } else {
      dense.assign(static_cast<std::size_t>(raw.rows()), -center);
      plain.for_each_in_column(j, [&](Index i, double value) { dense[static_cast<std::size_t>(i)] = value - center; });
      store.add(dense);
    }
  }
  return Matrix(std::move(store).build(), model.scales);
}

}  // namespace

Result<void> choose_scaling(const jobs::DataSection& section, const data::Dataset& training, glm::Model& model) {
  model.unit_rows = section.unit_rows;
  if (section.scale == jobs::Scale::kStandardize) return standardize(training, model);
  if (section.scale == jobs::Scale::kBounds) {
    bool needed = false;
    for (const double bound : training.bounds) {
      model.scales.push_back(std::isfinite(bound) && bound > 0 ? 1.0 / bound : 1.0);
      needed = needed || model.scales.back() != 1.0;
    }
    if (!section.unit_rows) needed = center_by_bounds(training, model) || needed;
    if (!needed) model.scales.clear();
  }
  return {};
}

Result<Matrix> scaled_features(const glm::Model& model, const Matrix& raw) {
  const auto rows = static_cast<std::size_t>(raw.rows());
  const auto columns = static_cast<std::size_t>(raw.cols());
  Matrix scaled = raw;
  const auto uncentred = std::count(model.centers.begin(), model.centers.end(), 0.0);
  if (uncentred > 0) {
    scaled = with_some_centred(model, raw);
  } else if (!model.centers.empty()) {
    if (static_cast<double>(rows) * static_cast<double>(columns) > kMostCentredCells)
      return fail(bad_input({.field = "data.scale"},
                            "centred columns would fill in every zero of this sparse table; use bounds or none",
                            fmt::format("{} x {}", rows, columns)));
    std::vector<double> centred(rows * columns);
    for (std::size_t j = 0; j < columns; ++j) {
      const auto column = std::span(centred).subspan(j * rows, rows);
      std::fill(column.begin(), column.end(), -model.centers[j] * model.scales[j]);
      raw.for_each_in_column(static_cast<Index>(j), [&](Index i, double value) {
        column[static_cast<std::size_t>(i)] = (value - model.centers[j]) * model.scales[j];
      });
    }
    scaled = Matrix::from_dense(raw.rows(), raw.cols(), centred);
  } else if (!model.scales.empty()) {
    scaled = raw.with_column_scale(model.scales);
  }
  if (model.unit_rows) {
    std::vector<double> factors(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      // In the order of the columns: a record's length must not depend on how columns are stored, which others decide.
      double squares = 0;
      scaled.for_each_in_row(static_cast<Index>(i), [&](Index, double value) { squares += value * value; });
      const double norm = std::sqrt(squares);
      factors[i] = norm > 0 ? 1.0 / norm : 1.0;
    }
    scaled = scaled.with_scaled_rows(factors);
  }
  return scaled;
}

}  // namespace parley::models
