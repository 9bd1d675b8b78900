#include "parley/algorithms/vertical/ridge_factor.h"

#include <fmt/format.h>

#include <numeric>

#include "parley/algorithms/parts/cholesky.h"
#include "parley/linalg/gram.h"

namespace parley::algorithms {

using linalg::Index;
using linalg::Matrix;

namespace {

constexpr std::size_t kLargestSquare = 12000;  // 1.2 GB

Matrix transposed(const Matrix& a) {
  std::vector<std::size_t> offsets{0};
  std::vector<Index> rows;
  std::vector<double> values;
  for (Index j = 0; j < a.cols(); ++j) {
    a.for_each_in_column(j, [&](Index i, double value) {
      if (value == 0) return;
      rows.push_back(i);
      values.push_back(value);
    });
    offsets.push_back(rows.size());
  }
  return Matrix::from_rows(a.rows(), offsets, rows, values);
}

// D'v, the column of ones included.
std::vector<double> back(const ColumnShare& share, std::span<const double> v) {
  const auto columns = static_cast<std::size_t>(share.features.cols());
  std::vector<double> x(columns + (share.constant ? 1 : 0));
  share.features.multiply_transposed(v, std::span(x).first(columns));
  if (share.constant) x.back() = std::accumulate(v.begin(), v.end(), 0.0);
  return x;
}

// D'D with the column of ones.
std::vector<double> gram_of_columns(const ColumnShare& share, std::size_t size) {
  const auto columns = static_cast<std::size_t>(share.features.cols());
  std::vector<double> square(columns * columns);
  linalg::weighted_gram(share.features, {}, square);
  if (!share.constant) return square;
  std::vector<double> bordered(size * size);
  const std::vector<double> ones(static_cast<std::size_t>(share.features.rows()), 1.0);
  const std::vector<double> sums = back(share, ones);
  for (std::size_t j = 0; j < columns; ++j) {
    std::copy_n(&square[j * columns], columns, &bordered[j * size]);
    bordered[j * size + columns] = bordered[columns * size + j] = sums[j];
  }
  bordered.back() = static_cast<double>(ones.size());
  return bordered;
}

}  // namespace

Result<RidgeFactor> RidgeFactor::make(const ColumnShare& share, double ridge) {
  const auto records = static_cast<std::size_t>(share.features.rows());
  const auto columns = static_cast<std::size_t>(share.features.cols()) + (share.constant ? 1 : 0);
  RidgeFactor made;
  made.by_records_ = columns > records;
  made.size_ = std::min(columns, records);
  if (made.size_ > kLargestSquare)
    return fail(
        bad_input({.field = "algorithm.name"},
                  fmt::format("admm-sharing factors a square of the smaller of records and columns; {} is its limit",
                              kLargestSquare),
                  fmt::format("{}", made.size_)));
  if (made.by_records_) {
    made.factor_.resize(records * records);
    linalg::weighted_gram(transposed(share.features), {}, made.factor_);
    if (share.constant)
      for (double& entry : made.factor_) entry += 1.0;
  } else {
    made.factor_ = gram_of_columns(share, columns);
  }
  for (std::size_t j = 0; j < made.size_; ++j) made.factor_[j * made.size_ + j] += ridge;
  if (!cholesky(made.factor_, made.size_))
    return fail(failed("the party's features cannot be factored: they hold numbers too large for the penalty"));
  return made;
}

std::vector<double> RidgeFactor::solve(const ColumnShare& share, std::span<const double> target) const {
  if (!by_records_) {
    std::vector<double> x = back(share, target);
    cholesky_solve(factor_, size_, x);
    return x;
  }
  std::vector<double> v(target.begin(), target.end());
  cholesky_solve(factor_, size_, v);
  return back(share, v);
}

std::vector<double> margins_of(const ColumnShare& share, std::span<const double> weights) {
  const auto columns = static_cast<std::size_t>(share.features.cols());
  std::vector<double> margins(static_cast<std::size_t>(share.features.rows()));
  share.features.multiply(weights.first(columns), margins);
  if (share.constant)
    for (double& margin : margins) margin += weights.back();
  return margins;
}

}  // namespace parley::algorithms
