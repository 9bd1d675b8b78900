#include "parley/glm/softmax.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "parley/glm/loss.h"

namespace parley::glm {

double Softmax::log_sum_exp(std::span<const double> m) {
  assert(!m.empty());
  const auto top = std::max_element(m.begin(), m.end());
  double rest = 0;  // without the largest term, so that log1p keeps what a sum with 1 would drop
  for (auto k = m.begin(); k != m.end(); ++k)
    if (k != top) rest += std::exp(*k - *top);
  return *top + std::log1p(rest);
}

double Softmax::value(std::span<const double> m, int y) {
  const auto top = std::max_element(m.begin(), m.end());
  double rest = 0;
  for (auto k = m.begin(); k != m.end(); ++k)
    if (k != top) rest += std::exp(*k - *top);
  return (*top - m[static_cast<std::size_t>(y)]) + std::log1p(rest);
}

void Softmax::probabilities(std::span<const double> m, std::span<double> p) {
  const double top = *std::max_element(m.begin(), m.end());
  double sum = 0;
  for (std::size_t k = 0; k < m.size(); ++k) sum += p[k] = std::exp(m[k] - top);
  for (double& share : p) share /= sum;
}

void Softmax::gradient(std::span<const double> m, int y, std::span<double> out) {
  probabilities(m, out);
  // p_y - 1 as minus the others' mass: no cancellation when p_y is close to 1.
  double others = 0;
  for (std::size_t k = 0; k < out.size(); ++k)
    if (k != static_cast<std::size_t>(y)) others += out[k];
  out[static_cast<std::size_t>(y)] = -others;
}

void Softmax::hessian_product(std::span<const double> p, std::span<const double> v, std::span<double> out) {
  double mean = 0;
  for (std::size_t k = 0; k < p.size(); ++k) mean += p[k] * v[k];
  for (std::size_t k = 0; k < p.size(); ++k) out[k] = p[k] * (v[k] - mean);
}

double Softmax::conjugate(std::span<const double> u, int y, double slack) {
  double sum = 0;
  double entropy = 0;
  for (std::size_t k = 0; k < u.size(); ++k) {
    const double q = u[k] + (k == static_cast<std::size_t>(y) ? 1.0 : 0.0);
    if (!(q >= -slack)) return std::numeric_limits<double>::infinity();
    sum += q;
    entropy += x_log_x(q);
  }
  return std::abs(sum - 1.0) <= slack ? entropy : std::numeric_limits<double>::infinity();
}

double wright_omega(double x) {
  if (x < -36.0) return std::exp(x);  // z + log z = x with z below half an ulp of log z
  // f(z) = z + log z - x is concave and increasing, so Newton's iterates approach from below once
  // they are positive; in the form below they stay positive: z <- z (1 + x - log z) / (1 + z).
  double z = x > 1 ? x - std::log(x) : std::exp(x - 1.0);
  for (int i = 0; i < 50; ++i) {
    const double next = z * (1.0 + (x - std::log(z))) / (1.0 + z);
    if (std::abs(next - z) <= 4e-16 * z) return next;
    z = next;
  }
  return z;
}

// Stationarity: m_k = c_k - step p_k with c = v + step e_y and p_k = e^(m_k - L), L = lse(m). For a given
// L, z_k = step p_k solves z_k + log z_k = c_k - L + log step, so z_k = omega(c_k - L + log step); L is the
// root of F(L) = sum_k z_k(L) - step, which decreases and is convex (z' = -z/(1+z)): Newton from the
// left never passes it. F >= 0 at L = max_k c_k - step: there z_k = step for the largest c_k.
void Softmax::prox(double step, std::span<const double> v, int y, std::span<double> out) {
  if (step == 0) {
    std::copy(v.begin(), v.end(), out.begin());
    return;
  }
  const auto target = [&](std::size_t k) { return v[k] + (k == static_cast<std::size_t>(y) ? step : 0.0); };
  double top = target(0);
  for (std::size_t k = 1; k < v.size(); ++k) top = std::max(top, target(k));
  const double log_step = std::log(step);
  // Relative to `top`, so that margins of 1e6 cost no digits of the differences.
  double level = -step;  // L - top
  for (int i = 0; i < 200; ++i) {
    double sum = 0;
    double slope = 0;
    for (std::size_t k = 0; k < v.size(); ++k) {
      const double z = wright_omega((target(k) - top) - level + log_step);
      sum += z;
      slope += z / (1.0 + z);
    }
    const double move = (sum - step) / slope;
    level += move;
    if (std::abs(move) <= 1e-15 * std::max(1.0, std::abs(level))) break;
  }
  for (std::size_t k = 0; k < v.size(); ++k) {
    const double c = target(k);
    out[k] = c - wright_omega((c - top) - level + log_step);
  }
}

}  // namespace parley::glm
