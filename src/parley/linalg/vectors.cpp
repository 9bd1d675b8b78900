#include "parley/linalg/vectors.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "parley/core/threads.h"
#include "parley/linalg/kernels.h"

namespace parley::linalg {

namespace {

// Small enough to balance two threads, large enough that a chunk outweighs starting it.
constexpr std::size_t kGrain = 1 << 15;

}  // namespace

double dot(std::span<const double> x, std::span<const double> y) {
  assert(x.size() == y.size());
  return parallel_sum(x.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    return kernels().dot(x.data() + begin, y.data() + begin, end - begin);
  });
}

void axpy(double a, std::span<const double> x, std::span<double> y) {
  assert(x.size() == y.size());
  parallel_chunks(x.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    kernels().axpy(a, x.data() + begin, y.data() + begin, end - begin);
  });
}

void scale(double a, std::span<double> x) {
  parallel_chunks(x.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) x[i] *= a;
  });
}

double l1_norm(std::span<const double> x) {
  return parallel_sum(x.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    return kernels().sum_magnitudes(x.data() + begin, end - begin);
  });
}

double squared_norm(std::span<const double> x) {
  return dot(x, x);
}

double l2_norm(std::span<const double> x) {
  const double plain = squared_norm(x);
  // Away from the ends of the range no square overflowed, and what underflowed is below rounding.
  if (plain > 1e-280 && plain < 1e300) return std::sqrt(plain);
  const double largest = linf_norm(x);
  if (largest == 0.0 || !std::isfinite(largest)) return largest;
  double sum = 0;
  for (const double v : x) sum += (v / largest) * (v / largest);
  return largest * std::sqrt(sum);
}

double linf_norm(std::span<const double> x) {
  return kernels().max_magnitude(x.data(), x.size());
}

std::vector<Index> top_k(std::span<const double> x, std::size_t k) {
  std::vector<Index> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  if (k >= x.size()) return order;
  const auto before = [&](Index a, Index b) {
    const double left = std::abs(x[static_cast<std::size_t>(a)]);
    const double right = std::abs(x[static_cast<std::size_t>(b)]);
    return left > right || (left == right && a < b);
  };
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(), before);
  order.resize(k);
  std::sort(order.begin(), order.end());
  return order;
}

void soft_threshold(std::span<double> x, double threshold) {
  parallel_chunks(x.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) x[i] = soft_threshold(x[i], threshold);
  });
}

void hard_threshold(std::span<double> x, std::size_t k) {
  const std::vector<Index> kept = top_k(x, k);
  auto next = kept.begin();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (next != kept.end() && static_cast<std::size_t>(*next) == i)
      ++next;
    else
      x[i] = 0.0;
  }
}

}  // namespace parley::linalg
