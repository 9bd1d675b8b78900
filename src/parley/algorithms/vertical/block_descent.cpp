#include "parley/algorithms/vertical/block_descent.h"

#include <algorithm>
#include <cmath>

#include "parley/algorithms/parts/cholesky.h"
#include "parley/algorithms/vertical/ridge_factor.h"
#include "parley/linalg/gram.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

constexpr std::size_t kWholeSquare = 4096;  // columns up to which G is made at once
constexpr int kMostSweeps = 2000;
constexpr int kSteps = 3;
constexpr double kRounding = 1e-13;  // of the largest b
constexpr double kTiny = 1e-10;      // of the largest entry on the diagonal

}  // namespace

Result<void> BlockDescent::set_rho(const ColumnShare& share, double rho) {
  threshold_ = penalty_.l1 / rho;
  ridge_ = penalty_.l2 / rho;
  if (!diagonal_.empty()) return {};
  PARLEY_CHECK(largest_square(share));
  diagonal_ = share.features.column_squared_norms();
  if (share.constant) diagonal_.push_back(static_cast<double>(share.features.rows()));
  const std::size_t width = diagonal_.size();
  gram_.resize(width);
  if (width > kWholeSquare) return {};
  const std::vector<double> square = gram_of(share);
  for (std::size_t j = 0; j < width; ++j)
    gram_[j].assign(square.begin() + static_cast<std::ptrdiff_t>(j * width),
                    square.begin() + static_cast<std::ptrdiff_t>((j + 1) * width));
  return {};
}

const std::vector<double>& BlockDescent::gram_column(const ColumnShare& share, std::size_t j) {
  std::vector<double>& column = gram_[j];
  if (!column.empty()) return column;
  const auto records = static_cast<std::size_t>(share.features.rows());
  std::vector<double> values(records, 1.0);
  if (j < static_cast<std::size_t>(share.features.cols())) {
    std::fill(values.begin(), values.end(), 0.0);
    share.features.column_axpy(static_cast<linalg::Index>(j), 1.0, values);
  }
  return column = products_of(share, values);
}

void BlockDescent::move(const ColumnShare& share, Search& search, std::size_t j, double to) {
  const double by = to - search.x[j];
  if (by == 0) return;
  linalg::axpy(-by, gram_column(share, j), search.left);
  search.x[j] = to;
}

double BlockDescent::best(const Search& search, std::size_t j) const {
  if (diagonal_[j] == 0) return 0;  // a column of zeros
  const double at = linalg::soft_threshold(search.left[j] + diagonal_[j] * search.x[j], threshold_);
  return std::clamp(at / (diagonal_[j] + ridge_), -penalty_.box, penalty_.box);
}

bool BlockDescent::sweep(const ColumnShare& share, Search& search) {
  const auto kind = [&](double value) {
    return value == 0 ? 0 : std::copysign(std::abs(value) < penalty_.box ? 1.0 : 2.0, value);
  };
  bool stayed = true;
  for (std::size_t j = 0; j < search.x.size(); ++j) {
    const double to = best(search, j);
    stayed = stayed && kind(to) == kind(search.x[j]);
    move(share, search, j, to);
  }
  return stayed;
}

// How far the optimality conditions are from holding: of one coordinate, in the unit of b.
double BlockDescent::violation(const Search& search) const {
  double most = 0;
  for (std::size_t j = 0; j < search.x.size(); ++j)
    most = std::max(most, std::abs(best(search, j) - search.x[j]) * (diagonal_[j] + ridge_));
  return most;
}

bool BlockDescent::factor(const ColumnShare& share, const Search& search) {
  std::vector<std::size_t> free;
  for (std::size_t j = 0; j < search.x.size(); ++j)
    if ((search.x[j] != 0 || threshold_ == 0) && std::abs(search.x[j]) < penalty_.box && diagonal_[j] > 0)
      free.push_back(j);
  if (free == free_ && factored_ridge_ == ridge_) return !factor_.empty();
  free_ = std::move(free);
  factored_ridge_ = ridge_;
  const std::size_t size = free_.size();
  factor_.assign(size * size, 0.0);
  double largest = 0;
  for (std::size_t p = 0; p < size; ++p) {
    const std::vector<double>& column = gram_column(share, free_[p]);
    for (std::size_t q = 0; q <= p; ++q) factor_[p * size + q] = column[free_[q]];
    largest = std::max(largest, diagonal_[free_[p]]);
  }
  for (std::size_t p = 0; p < size; ++p) factor_[p * size + p] += ridge_ + kTiny * largest;
  if (!cholesky(factor_, size)) factor_.clear();
  return !factor_.empty();
}

bool BlockDescent::step(const ColumnShare& share, Search& search) {
  if (!factor(share, search)) return false;
  for (int pass = 0; pass < kSteps; ++pass) {
    std::vector<double> by(free_.size());
    for (std::size_t p = 0; p < free_.size(); ++p) {
      const double x = search.x[free_[p]];
      by[p] = search.left[free_[p]] - ridge_ * x - (x == 0 ? 0 : std::copysign(threshold_, x));
    }
    cholesky_solve(factor_, free_.size(), by);
    for (std::size_t p = 0; p < free_.size(); ++p) {
      const double to = search.x[free_[p]] + by[p];
      if (!(std::abs(to) <= penalty_.box) || (threshold_ > 0 && to * search.x[free_[p]] <= 0)) return false;
    }
    for (std::size_t p = 0; p < free_.size(); ++p) move(share, search, free_[p], search.x[free_[p]] + by[p]);
  }
  return true;
}

Result<void> BlockDescent::solve(const ColumnShare& share, std::span<const double> target, std::span<double> x) {
  Search search{x, products_of(share, target), 0};
  search.small = kRounding * linalg::linf_norm(search.left);
  for (std::size_t j = 0; j < x.size(); ++j)
    if (x[j] != 0) linalg::axpy(-x[j], gram_column(share, j), search.left);
  int wait = 1;  // sweeps before a step is tried again
  for (int sweeps = 0, next = 0; sweeps < kMostSweeps && violation(search) > search.small; ++sweeps) {
    const bool stayed = sweep(share, search);
    if (!stayed || sweeps < next) continue;
    if (!step(share, search)) wait = std::min(2 * wait, 64);
    next = sweeps + wait;
  }
  for (const double value : x)
    if (!std::isfinite(value)) return fail(failed("the party's features hold numbers too large to solve for"));
  return {};
}

}  // namespace parley::algorithms
