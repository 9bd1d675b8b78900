#include "parley/linalg/gram.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace parley::linalg {

void weighted_gram(const Matrix& a, std::span<const double> weights, std::span<double> out) {
  std::vector<Index> all(static_cast<std::size_t>(a.cols()));
  for (std::size_t j = 0; j < all.size(); ++j) all[j] = static_cast<Index>(j);
  weighted_gram(a, weights, all, out);
}

void weighted_gram(const Matrix& a, std::span<const double> weights, std::span<const Index> columns,
                   std::span<double> out) {
  const std::size_t size = columns.size();
  assert(out.size() == size * size);
  assert(weights.empty() || weights.size() == static_cast<std::size_t>(a.rows()));
  std::vector<Index> position(static_cast<std::size_t>(a.cols()), -1);
  for (std::size_t s = 0; s < size; ++s) position[static_cast<std::size_t>(columns[s])] = static_cast<Index>(s);
  std::fill(out.begin(), out.end(), 0.0);
  std::vector<RowEntry> chosen;
  for (Index i = 0; i < a.rows(); ++i) {
    chosen.clear();
    a.for_each_in_row(i, [&](Index j, double v) {
      if (position[static_cast<std::size_t>(j)] >= 0) chosen.push_back({position[static_cast<std::size_t>(j)], v});
    });
    const double weight = weights.empty() ? 1.0 : weights[static_cast<std::size_t>(i)];
    for (const RowEntry& left : chosen)
      for (const RowEntry& right : chosen)
        out[static_cast<std::size_t>(left.column) * size + static_cast<std::size_t>(right.column)] +=
            weight * (left.value * right.value);
  }
}

void gram_column(const Matrix& a, Index j, std::span<double> out) {
  assert(out.size() == static_cast<std::size_t>(a.cols()));
  std::fill(out.begin(), out.end(), 0.0);
  a.for_each_in_column(j, [&](Index i, double v) { a.row_axpy(i, v, out); });
}

}  // namespace parley::linalg
