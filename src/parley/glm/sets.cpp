#include "parley/glm/sets.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "parley/linalg/vectors.h"

namespace parley::glm {

void L1Ball::project(std::span<double> w) const {
  assert(radius >= 0);
  if (linalg::l1_norm(w) <= radius) return;
  std::vector<double> sizes(w.size());
  std::transform(w.begin(), w.end(), sizes.begin(), [](double x) { return std::abs(x); });
  // The support of the projection is a prefix of the sizes in descending order: entry m belongs to it iff
  // sum_{i <= m} (s_i - s_m) < r. Invariant: [0, begin) belongs, [end, d) does not.
  std::size_t begin = 0;
  std::size_t end = sizes.size();
  double prefix = 0;  // sum of [0, begin)
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    const auto at = [&](std::size_t i) { return sizes.begin() + static_cast<std::ptrdiff_t>(i); };
    std::nth_element(at(begin), at(middle), at(end), std::greater<>());
    const double sum = std::accumulate(at(begin), at(middle + 1), prefix);
    if (sum - static_cast<double>(middle + 1) * sizes[middle] < radius) {
      prefix = sum;
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  if (begin == 0) {  // radius 0: only the origin
    std::fill(w.begin(), w.end(), 0.0);
    return;
  }
  const double theta = (prefix - radius) / static_cast<double>(begin);
  for (double& x : w) x = std::copysign(std::max(0.0, std::abs(x) - theta), x);
}

Vertex L1Ball::minimise_linear(std::span<const double> g) const {
  Vertex best{0, -radius};
  double largest = -1;
  for (std::size_t j = 0; j < g.size(); ++j)
    if (std::abs(g[j]) > largest) {
      largest = std::abs(g[j]);
      best = {j, g[j] > 0 ? -radius : radius};
    }
  return best;
}

double L1Ball::support(std::span<const double> u) const {
  return radius * linalg::linf_norm(u);
}

bool L1Ball::contains(std::span<const double> w, double slack) const {
  return linalg::l1_norm(w) <= radius + slack;
}

void Box::project(std::span<double> w) const {
  for (double& x : w) x = std::clamp(x, lower, upper);
}

void Box::minimise_linear(std::span<const double> g, std::span<double> w) const {
  for (std::size_t j = 0; j < g.size(); ++j) w[j] = g[j] > 0 ? lower : upper;
}

double Box::support(std::span<const double> u) const {
  double sum = 0;
  for (const double x : u) sum += std::max(lower * x, upper * x);
  return sum;
}

bool Box::contains(std::span<const double> w, double slack) const {
  return std::all_of(w.begin(), w.end(), [&](double x) { return x >= lower - slack && x <= upper + slack; });
}

void SparseSet::project(std::span<double> w) const {
  assert(classes > 0 && w.size() % classes == 0);
  const std::size_t length = w.size() / classes;
  for (std::size_t c = 0; c < classes; ++c) linalg::hard_threshold(w.subspan(c * length, length), nonzeros);
}

bool SparseSet::contains(std::span<const double> w) const {
  const std::size_t length = w.size() / classes;
  for (std::size_t c = 0; c < classes; ++c) {
    const auto block = w.subspan(c * length, length);
    const auto zeros = static_cast<std::size_t>(std::count(block.begin(), block.end(), 0.0));
    if (length - zeros > nonzeros) return false;
  }
  return true;
}

}  // namespace parley::glm
