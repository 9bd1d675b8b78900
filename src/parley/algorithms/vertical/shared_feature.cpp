#include "parley/algorithms/vertical/shared_feature.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "parley/linalg/matrix.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

// f(row, value) with the scale left out.
template <class F>
void for_each(const SharedFeature& feature, std::size_t records, F&& f) {
  const auto storage = static_cast<linalg::Storage>(feature.storage);
  if (storage == linalg::Storage::kBinary) {
    for (const linalg::Index row : feature.rows) f(static_cast<std::size_t>(row), 1.0);
    return;
  }
  const std::size_t count = feature.rows.empty() ? records : feature.rows.size();
  linalg::with_values(storage, feature.values.data(), [&]<class T>(const T*) {
    for (std::size_t k = 0; k < count; ++k) {
      T value;  // text is not aligned
      std::memcpy(&value, feature.values.data() + k * sizeof(T), sizeof(T));
      f(feature.rows.empty() ? k : static_cast<std::size_t>(feature.rows[k]), static_cast<double>(value));
    }
  });
}

bool before(const SharedFeature& feature, std::size_t column) {
  return static_cast<std::size_t>(feature.column) < column;
}

}  // namespace

std::span<const SharedFeature> shared_columns(const std::vector<SharedFeature>& features, std::size_t begin,
                                              std::size_t end) {
  const auto first = std::lower_bound(features.begin(), features.end(), begin, before);
  return {first, std::lower_bound(first, features.end(), end, before)};
}

const SharedFeature* shared_column(const std::vector<SharedFeature>& features, std::size_t column) {
  const auto found = shared_columns(features, column, column + 1);
  return found.empty() ? nullptr : found.data();
}

void keep_column(std::vector<SharedFeature>& features, SharedFeature feature) {
  const auto at = std::lower_bound(features.begin(), features.end(), static_cast<std::size_t>(feature.column), before);
  features.insert(at, std::move(feature));
}

SharedFeature packed(std::int64_t column, std::span<const double> numbers, double scale, linalg::Storage storage) {
  SharedFeature feature{
      .column = column, .storage = static_cast<int>(storage), .scale = scale, .rows = {}, .values = {}};
  feature.values.resize(numbers.size() * linalg::width(storage));
  const auto put = [&]<class T>(T) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto value = static_cast<T>(numbers[i] / scale);
      std::memcpy(feature.values.data() + i * sizeof(T), &value, sizeof(T));
    }
  };
  if (storage == linalg::Storage::kInt16)
    put(std::int16_t{});
  else if (storage == linalg::Storage::kFloat32)
    put(float{});
  else
    put(double{});
  return feature;
}

FeatureSpace::FeatureSpace(std::size_t records, int rows, linalg::SketchKind kind, std::uint64_t seed)
    : records_(records) {
  if (rows > 0)
    sketch_.emplace(linalg::SketchShape{.kind = kind,
                                        .rows = rows,
                                        .columns = static_cast<linalg::Index>(records),
                                        .seed = seed,
                                        .blocks = std::min(4, rows)});
}

FeatureSpace FeatureSpace::of(std::size_t records, std::vector<double> map) {
  FeatureSpace space;
  space.records_ = records;
  space.given_ = std::move(map);
  return space;
}

double FeatureSpace::column_norm() const {
  if (sketch_) return sketch_->max_column_norm();
  if (given_.empty()) return 1;
  double largest = 0;
  for (std::size_t r = 0; r < records_; ++r) {
    double sum = 0;
    for (std::size_t at = r; at < given_.size(); at += records_) sum += given_[at] * given_[at];
    largest = std::max(largest, std::sqrt(sum));
  }
  return largest * (1 + static_cast<double>(given_.size()) * 0x1p-52);
}

std::vector<double> FeatureSpace::numbers_of(const ColumnShare& share, std::size_t column) const {
  const auto j = static_cast<linalg::Index>(column);
  const bool ones = j == share.features.cols();
  if (sketch_ && !ones) {
    std::vector<double> numbers(length());
    sketch_->apply_column(share.features, j, numbers);
    return numbers;
  }
  std::vector<double> whole(records_, ones ? 1.0 : 0.0);
  if (!ones) share.features.column_axpy(j, 1.0, whole);
  return image(whole);
}

SharedFeature FeatureSpace::feature_of(const ColumnShare& share, std::size_t column) const {
  SharedFeature feature{.column = static_cast<std::int64_t>(column)};
  if (sketched()) return packed(feature.column, numbers_of(share, column), 1, linalg::Storage::kFloat32);
  if (column == static_cast<std::size_t>(share.features.cols())) {  // the column of ones
    feature.storage = static_cast<int>(linalg::Storage::kInt8);
    feature.values.assign(records_, char{1});
    return feature;
  }
  const linalg::ColumnView view = share.features.column(static_cast<linalg::Index>(column));
  feature.storage = static_cast<int>(view.storage);
  feature.scale = view.scale;
  if (view.rows != nullptr) feature.rows.assign(view.rows, view.rows + view.count);
  if (view.values != nullptr)
    feature.values.assign(static_cast<const char*>(view.values), view.count * linalg::width(view.storage));
  return feature;
}

Result<void> FeatureSpace::check(const SharedFeature& feature) const {
  const std::size_t records = length();
  if (feature.storage < 0 || feature.storage > static_cast<int>(linalg::Storage::kFloat64))
    return fail(failed("a feature of an unknown type"));
  const auto storage = static_cast<linalg::Storage>(feature.storage);
  // A column without nonzeros is stored sparse, with no row.
  const bool dense = feature.rows.empty() && !feature.values.empty();
  const std::size_t count = dense ? records : feature.rows.size();
  if (feature.values.size() != count * linalg::width(storage))
    return fail(failed("a feature that does not have one value per record"));
  for (std::size_t k = 0; k < feature.rows.size(); ++k)
    if (feature.rows[k] < 0 || static_cast<std::size_t>(feature.rows[k]) >= records ||
        (k > 0 && feature.rows[k] <= feature.rows[k - 1]))
      return fail(failed("a feature whose rows are not those of records in their order"));
  bool finite = std::isfinite(feature.scale);
  for_each(feature, dense ? records : 0, [&](std::size_t, double value) { finite = finite && std::isfinite(value); });
  return finite ? Result<void>{} : fail(failed("a feature that is not made of finite numbers"));
}

double dot(const SharedFeature& feature, std::span<const double> v) {
  double sum = 0;
  if (feature.rows.empty() && feature.values.empty()) return 0;
  for_each(feature, v.size(), [&](std::size_t row, double value) { sum += value * v[row]; });
  return sum * feature.scale;
}

void axpy(double a, const SharedFeature& feature, std::span<double> v) {
  if (feature.rows.empty() && feature.values.empty()) return;
  const double factor = a * feature.scale;
  for_each(feature, v.size(), [&](std::size_t row, double value) { v[row] += factor * value; });
}

void FeatureSpace::margins(std::span<const double> state, std::span<double> out) const {
  if (sketch_) return sketch_->apply_transposed(state, out);
  if (given_.empty()) {
    std::copy(state.begin(), state.end(), out.begin());
    return;
  }
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t p = 0; p < state.size(); ++p)
    linalg::axpy(state[p], std::span(given_).subspan(p * records_, records_), out);
}

std::vector<double> FeatureSpace::image(std::span<const double> derivative) const {
  if (!sketched()) return {derivative.begin(), derivative.end()};
  std::vector<double> image(length());
  if (sketch_) {
    sketch_->apply(derivative, image);
    return image;
  }
  for (std::size_t p = 0; p < image.size(); ++p)
    image[p] = linalg::dot(std::span(given_).subspan(p * records_, records_), derivative);
  return image;
}

}  // namespace parley::algorithms
