#include "parley/algorithms/vertical/block_solver.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parley/linalg/vectors.h"

namespace parley::algorithms {

Result<double> largest_square(const ColumnShare& share) {
  double largest = share.constant ? static_cast<double>(share.features.rows()) : 0;
  for (const double square : share.features.column_squared_norms()) {
    if (!std::isfinite(square)) return fail(failed("the party's features are too large: their squares overflow"));
    largest = std::max(largest, square);
  }
  return largest;
}

std::vector<double> margins_of(const ColumnShare& share, std::span<const double> weights) {
  const auto columns = static_cast<std::size_t>(share.features.cols());
  std::vector<double> margins(static_cast<std::size_t>(share.features.rows()));
  share.features.multiply(weights.first(columns), margins);
  if (share.constant)
    for (double& margin : margins) margin += weights.back();
  return margins;
}

std::vector<double> class_margins_of(const ColumnShare& share, std::span<const double> weights) {
  const std::size_t width = columns_of(share);
  if (weights.size() <= width) return margins_of(share, weights);
  std::vector<double> all;
  for (std::size_t at = 0; at < weights.size(); at += width) {
    const std::vector<double> margins = margins_of(share, weights.subspan(at, width));
    all.insert(all.end(), margins.begin(), margins.end());
  }
  return all;
}

std::vector<double> products_of(const ColumnShare& share, std::span<const double> values) {
  std::vector<double> products(columns_of(share));
  share.features.multiply_transposed(values,
                                     std::span(products).first(static_cast<std::size_t>(share.features.cols())));
  if (share.constant) products.back() = std::accumulate(values.begin(), values.end(), 0.0);
  return products;
}

double block_residual(const ColumnShare& share, const BlockPenalty& penalty, std::span<const double> pull,
                      std::span<const double> x) {
  const std::vector<double> gradient = products_of(share, pull);
  double squares = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double stepped = linalg::soft_threshold(x[j] - gradient[j], penalty.l1) / (1 + penalty.l2);
    const double moved = x[j] - std::clamp(stepped, -penalty.box, penalty.box);
    squares += moved * moved;
  }
  return squares;
}

}  // namespace parley::algorithms
