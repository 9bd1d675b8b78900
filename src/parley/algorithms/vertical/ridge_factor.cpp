#include "parley/algorithms/vertical/ridge_factor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parley/algorithms/parts/cholesky.h"
#include "parley/linalg/gram.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

using linalg::Index;
using linalg::Matrix;

namespace {

constexpr std::size_t kLargestSquare = 12000;  // 1.2 GB
constexpr double kProximal = 1e-7;             // of the largest entry on the diagonal
constexpr int kRefinements = 3;

std::size_t smaller_side(const ColumnShare& share) {
  return std::min(static_cast<std::size_t>(share.features.rows()), columns_of(share));
}

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

bool by_records(const ColumnShare& share) {
  return columns_of(share) > static_cast<std::size_t>(share.features.rows());
}

// D'D or D D', the smaller one.
std::vector<double> square_of(const ColumnShare& share) {
  if (!by_records(share)) return gram_of(share);
  const auto records = static_cast<std::size_t>(share.features.rows());
  std::vector<double> square(records * records);
  linalg::weighted_gram(transposed(share.features), {}, square);
  if (share.constant)
    for (double& entry : square) entry += 1.0;
  return square;
}

}  // namespace

std::vector<double> gram_of(const ColumnShare& share) {
  const auto columns = static_cast<std::size_t>(share.features.cols());
  const std::size_t size = columns_of(share);
  std::vector<double> square(size * size);
  linalg::weighted_gram(share.features, {}, std::span(square).first(columns * columns));
  if (!share.constant) return square;
  for (std::size_t j = columns; j-- > 1;)  // from rows of `columns` to rows of `size`, the last first
    std::copy_backward(&square[j * columns], &square[j * columns] + columns, &square[j * size] + columns);
  const std::vector<double> sums =
      products_of(share, std::vector<double>(static_cast<std::size_t>(share.features.rows()), 1.0));
  for (std::size_t j = 0; j < size; ++j) square[j * size + columns] = square[columns * size + j] = sums[j];
  return square;
}

bool RidgeFactor::fits(const ColumnShare& share) {
  return smaller_side(share) <= kLargestSquare;
}

Result<RidgeFactor> RidgeFactor::make(const ColumnShare& share, double ridge) {
  return make(share, square_of(share), ridge);
}

Result<RidgeFactor> RidgeFactor::make(const ColumnShare& share, std::vector<double> square, double ridge) {
  RidgeFactor made;
  made.by_records_ = by_records(share);
  made.size_ = smaller_side(share);
  made.ridge_ = ridge;
  made.factor_ = std::move(square);
  for (std::size_t j = 0; j < made.size_; ++j) made.factor_[j * made.size_ + j] += ridge;
  if (!cholesky(made.factor_, made.size_))
    return fail(failed("the party's features cannot be factored: they hold numbers too large for the penalty"));
  return made;
}

std::vector<double> RidgeFactor::solve(const ColumnShare& share, std::span<const double> target) const {
  if (!by_records_) {
    std::vector<double> x = products_of(share, target);
    cholesky_solve(factor_, size_, x);
    return x;
  }
  std::vector<double> v(target.begin(), target.end());
  cholesky_solve(factor_, size_, v);
  return products_of(share, v);
}

std::vector<double> RidgeFactor::invert(const ColumnShare& share, std::span<const double> v) const {
  std::vector<double> x(v.begin(), v.end());
  if (!by_records_) {
    cholesky_solve(factor_, size_, x);
    return x;
  }
  std::vector<double> rows = margins_of(share, v);
  cholesky_solve(factor_, size_, rows);
  linalg::axpy(-1.0, products_of(share, rows), x);
  linalg::scale(1 / ridge_, x);
  return x;
}

// The square is kept from the second rho on: most runs have one.
Result<RidgeFactor> FactoredRidge::factored(const ColumnShare& share, double ridge) {
  if (changes_ == 0) return RidgeFactor::make(share, ridge);
  if (square_.empty()) square_ = square_of(share);
  return RidgeFactor::make(share, square_, ridge);
}

Result<void> FactoredRidge::set_rho(const ColumnShare& share, double rho) {
  ridge_ = l2_ / rho;
  proximal_ = ridge_ == 0;
  if (!proximal_) {
    auto made = factored(share, ridge_);
    if (made) {
      factor_ = std::move(*made);
      ++changes_;
      return {};
    }
    proximal_ = true;
  }
  PARLEY_TRY(const double largest, largest_square(share));
  PARLEY_TRY(factor_, factored(share, ridge_ + kProximal * (largest > 0 ? largest : 1)));
  ++changes_;
  return {};
}

Result<void> FactoredRidge::solve(const ColumnShare& share, std::span<const double> target, std::span<double> x) {
  if (!proximal_) {
    const std::vector<double> found = factor_.solve(share, target);
    std::copy(found.begin(), found.end(), x.begin());
    return {};
  }
  for (int pass = 0; pass < kRefinements; ++pass) {
    std::vector<double> missing(target.begin(), target.end());
    linalg::axpy(-1.0, margins_of(share, x), missing);
    std::vector<double> gradient = products_of(share, missing);
    linalg::axpy(-ridge_, x, gradient);
    linalg::axpy(1.0, factor_.invert(share, gradient), x);
  }
  return {};
}

}  // namespace parley::algorithms
