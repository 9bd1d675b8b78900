#include "parley/algorithms/relational/table_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parley/algorithms/parts/cholesky.h"
#include "parley/algorithms/vertical/ridge_factor.h"
#include "parley/linalg/gram.h"

namespace parley::algorithms {

using linalg::Index;
using linalg::Matrix;

namespace {

constexpr std::size_t kLargestSquare = 12000;  // 1.2 GB

Result<void> check_square(std::size_t size) {
  if (size <= kLargestSquare) return {};
  return fail(bad_input({.field = "algorithm.name"},
                        fmt::format("relational-admm factors a square of the smaller of a table's columns and its "
                                    "tuples; {} is its limit",
                                    kLargestSquare),
                        fmt::format("{}", size)));
}

bool are_all(std::span<const Index> tuples, Index rows) {
  if (static_cast<Index>(tuples.size()) != rows) return false;
  for (Index t = 0; t < rows; ++t)
    if (tuples[static_cast<std::size_t>(t)] != t) return false;
  return true;
}

Matrix rows_of(const Matrix& features, std::span<const Index> tuples) {
  return are_all(tuples, features.rows()) ? features : features.select_rows(tuples);
}

}  // namespace

Result<GramSystem> GramSystem::make(std::vector<double> gram, std::size_t columns, const SystemTerms& terms) {
  GramSystem made;
  made.columns_ = columns;
  made.factor_ = std::move(gram);
  for (double& entry : made.factor_) entry *= terms.weight;
  for (std::size_t j = 0; j < columns; ++j) made.factor_[j * columns + j] += terms.ridge;
  if (!cholesky(made.factor_, columns))
    return fail(failed("the table's features cannot be factored: they hold numbers too large for the penalty"));
  return made;
}

std::vector<double> GramSystem::solve(std::vector<double> moments) const {
  for (double& moment : moments) moment = -moment;
  for (std::size_t at = 0; at < moments.size(); at += columns_)
    cholesky_solve(factor_, columns_, std::span(moments).subspan(at, columns_));
  return moments;
}

TableRows TableRows::make(const Matrix& features, const TravellingTuples& travelling, bool reduce_rows) {
  TableRows made;
  made.travelling_ = travelling.tuples.size();
  const bool distinct = !travelling.uses.empty() || travelling.tuples.empty();
  if (distinct == reduce_rows) {
    made.features_ = rows_of(features, travelling.tuples);
    made.uses_.assign(travelling.tuples.size(), 1.0);
    if (distinct) made.uses_.assign(travelling.uses.begin(), travelling.uses.end());
    return made;
  }
  std::vector<Index> tuples;
  if (reduce_rows) {  // a row for each tuple, of what travels for each row of the join
    tuples.assign(travelling.tuples.begin(), travelling.tuples.end());
    std::sort(tuples.begin(), tuples.end());
    tuples.erase(std::unique(tuples.begin(), tuples.end()), tuples.end());
    made.uses_.assign(tuples.size(), 0.0);
    for (const Index tuple : travelling.tuples) {
      const auto row = std::lower_bound(tuples.begin(), tuples.end(), tuple) - tuples.begin();
      made.row_of_.push_back(static_cast<Index>(row));
      made.uses_[static_cast<std::size_t>(row)] += 1;
    }
  } else {  // a row for each row of the join, of what travels for each tuple
    for (std::size_t t = 0; t < travelling.tuples.size(); ++t) {
      tuples.insert(tuples.end(), static_cast<std::size_t>(travelling.uses[t]), travelling.tuples[t]);
      made.split_.resize(tuples.size(), static_cast<Index>(t));
    }
    made.uses_.assign(tuples.size(), 1.0);
  }
  made.features_ = rows_of(features, tuples);
  return made;
}

std::vector<double> TableRows::gram() const {
  const auto columns = static_cast<std::size_t>(features_.cols());
  std::vector<double> gram(columns * columns);
  linalg::weighted_gram(features_, uses_, gram);
  return gram;
}

std::vector<double> TableRows::sums_by_row(std::span<const double> sums, int classes) const {
  const auto width = static_cast<std::size_t>(classes);
  if (row_of_.empty() && split_.empty()) return {sums.begin(), sums.end()};
  std::vector<double> by_row(uses_.size() * width, 0.0);
  for (std::size_t t = 0; t < row_of_.size(); ++t)
    for (std::size_t k = 0; k < width; ++k)
      by_row[static_cast<std::size_t>(row_of_[t]) * width + k] += sums[t * width + k];
  std::vector<double> parts(split_.empty() ? 0 : travelling_, 0.0);
  for (const Index t : split_) parts[static_cast<std::size_t>(t)] += 1;
  for (std::size_t row = 0; row < split_.size(); ++row) {
    const auto t = static_cast<std::size_t>(split_[row]);
    for (std::size_t k = 0; k < width; ++k) by_row[row * width + k] = sums[t * width + k] / parts[t];
  }
  return by_row;
}

std::vector<double> TableRows::moments(std::span<const double> sums, int classes) const {
  std::vector<double> moments(static_cast<std::size_t>(features_.cols()) * static_cast<std::size_t>(classes));
  features_.multiply_transposed(sums_by_row(sums, classes), classes, moments);
  return moments;
}

std::vector<double> TableRows::values(std::span<const double> weights, int classes) const {
  const auto width = static_cast<std::size_t>(classes);
  std::vector<double> by_row(uses_.size() * width);
  features_.multiply(weights, classes, by_row);
  if (row_of_.empty() && split_.empty()) return by_row;
  std::vector<double> values(travelling_ * width);
  const auto copy = [&](std::size_t row, std::size_t t) {
    std::copy_n(&by_row[row * width], width, &values[t * width]);
  };
  for (std::size_t t = 0; t < row_of_.size(); ++t) copy(static_cast<std::size_t>(row_of_[t]), t);
  for (std::size_t row = 0; row < split_.size(); ++row) copy(row, static_cast<std::size_t>(split_[row]));
  return values;
}

Result<TableSystem> TableSystem::make(TableRows rows, const SystemTerms& terms) {
  TableSystem made(std::move(rows));
  made.weight_ = terms.weight;
  const Matrix& features = made.rows_.features();
  const auto columns = static_cast<std::size_t>(features.cols());
  PARLEY_CHECK(check_square(std::min(columns, made.rows_.uses().size())));
  if (columns <= made.rows_.uses().size()) {
    PARLEY_TRY(made.by_columns_, GramSystem::make(made.rows_.gram(), columns, terms));
    return made;
  }
  std::vector<double> roots(made.rows_.uses().begin(), made.rows_.uses().end());
  for (double& uses : roots) uses = std::sqrt(uses);
  PARLEY_TRY(RidgeFactor factor,
             RidgeFactor::make({features.with_scaled_rows(roots), {}, false}, terms.ridge / terms.weight));
  made.by_tuples_ = std::make_shared<const RidgeFactor>(std::move(factor));
  return made;
}

std::vector<double> TableSystem::solve(std::span<const double> sums, int classes) const {
  return by_columns_ ? by_columns_->solve(rows_.moments(sums, classes)) : solve_by_tuples(sums, classes);
}

// Few tuples: W is made anew each time.
std::vector<double> TableSystem::solve_by_tuples(std::span<const double> sums, int classes) const {
  const auto width = static_cast<std::size_t>(classes);
  std::vector<double> roots(rows_.uses().begin(), rows_.uses().end());
  for (double& uses : roots) uses = std::sqrt(uses);
  const ColumnShare scaled{rows_.features().with_scaled_rows(roots), {}, false};
  const std::vector<double> by_row = rows_.sums_by_row(sums, classes);
  std::vector<double> weights;
  std::vector<double> target(roots.size());
  for (std::size_t k = 0; k < width; ++k) {
    for (std::size_t t = 0; t < target.size(); ++t) target[t] = -by_row[t * width + k] / (weight_ * roots[t]);
    const std::vector<double> of_class = by_tuples_->solve(scaled, target);
    weights.insert(weights.end(), of_class.begin(), of_class.end());
  }
  return weights;
}

}  // namespace parley::algorithms
