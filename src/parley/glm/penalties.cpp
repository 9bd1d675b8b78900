#include "parley/glm/penalties.h"

#include <cassert>

namespace parley::glm {

double Penalty::value(std::span<const double> w) const {
  double absolute = 0;
  double squares = 0;
  for (const double x : w) {
    absolute += std::abs(x);
    squares += x * x;
  }
  return l1 * absolute + 0.5 * l2 * squares;
}

double Penalty::conjugate(std::span<const double> u) const {
  double sum = 0;
  for (const double x : u) sum += conjugate(x);
  return sum;
}

double Penalty::subgradient_distance(std::span<const double> w, std::span<const double> g) const {
  assert(w.size() == g.size());
  double largest = 0;
  for (std::size_t j = 0; j < w.size(); ++j) largest = std::max(largest, subgradient_distance(w[j], g[j]));
  return largest;
}

void Penalty::prox(double step, std::span<const double> v, std::span<double> out) const {
  assert(v.size() == out.size());
  for (std::size_t j = 0; j < v.size(); ++j) out[j] = prox(step, v[j]);
}

}  // namespace parley::glm
