// The laws that the mechanisms promise, from their closed forms in floating point.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace parley::privacy::reference {

inline double discrete_laplace(std::int64_t z, double scale) {
  return std::tanh(1 / (2 * scale)) * std::exp(-std::abs(static_cast<double>(z)) / scale);
}

class DiscreteGaussianPmf {
 public:
  explicit DiscreteGaussianPmf(double sigma) : sigma_(sigma) {
    for (std::int64_t z = 1; z <= static_cast<std::int64_t>(40 * sigma) + 2; ++z) sum_ += 2 * weight(z);
  }
  double operator()(std::int64_t z) const { return weight(z) / sum_; }

 private:
  [[nodiscard]] double weight(std::int64_t z) const {
    const double x = static_cast<double>(z) / sigma_;
    return std::exp(-x * x / 2);
  }
  double sigma_;
  double sum_ = 1;
};

inline double normal_between(double low, double high) {
  // Both ends on the side where the tail is small, so that the difference keeps its digits.
  if (low < 0 && high <= 0) return normal_between(-high, -low);
  if (low < 0) return 1 - std::erfc(high / std::sqrt(2)) / 2 - std::erfc(-low / std::sqrt(2)) / 2;
  return (std::erfc(low / std::sqrt(2)) - std::erfc(high / std::sqrt(2))) / 2;
}

inline double rounded_gaussian(std::int64_t z, double sigma) {
  return normal_between((static_cast<double>(z) - 0.5) / sigma, (static_cast<double>(z) + 0.5) / sigma);
}

// P(index) proportional to exp(eta * score).
inline std::vector<double> exponential_mechanism(std::span<const double> scores, double eta) {
  double top = scores[0], sum = 0;
  for (const double score : scores) top = std::max(top, score);
  std::vector<double> out;
  for (const double score : scores) {
    out.push_back(std::exp(eta * (score - top)));
    sum += out.back();
  }
  for (double& p : out) p /= sum;
  return out;
}

// Permute-and-flip (McKenna, Sheldon 2020): the i-th to be tried wins if it accepts and all before it
// declined. With places in the order uniform on [0, 1], P(i) = a_i * integral over t of prod_{j != i} (1 -
// a_j t), where a_j = exp(eta (u_j - max)).
inline std::vector<double> permute_and_flip(std::span<const double> scores, double eta) {
  double top = scores[0];
  for (const double score : scores) top = std::max(top, score);
  std::vector<double> out(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    std::vector<double> polynomial{1};
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (j == i) continue;
      const double accept = std::exp(eta * (scores[j] - top));
      polynomial.push_back(0);
      for (std::size_t k = polynomial.size() - 1; k > 0; --k) polynomial[k] -= accept * polynomial[k - 1];
    }
    double integral = 0;
    for (std::size_t k = 0; k < polynomial.size(); ++k) integral += polynomial[k] / static_cast<double>(k + 1);
    out[i] = std::exp(eta * (scores[i] - top)) * integral;
  }
  return out;
}

// argmax of score + Laplace(scale): integral over the winner's value between the kinks, where it is smooth.
inline std::vector<double> noisy_max_laplace(std::span<const double> scores, double scale) {
  const auto density = [&](double x) { return std::exp(-std::abs(x) / scale) / (2 * scale); };
  const auto below = [&](double x) { return x < 0 ? std::exp(x / scale) / 2 : 1 - std::exp(-x / scale) / 2; };
  std::vector<double> kinks(scores.begin(), scores.end());
  std::sort(kinks.begin(), kinks.end());
  kinks.insert(kinks.begin(), kinks.front() - 40 * scale);
  kinks.push_back(kinks.back() + 40 * scale);
  std::vector<double> out(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto integrand = [&](double x) {
      double product = density(x - scores[i]);
      for (std::size_t j = 0; j < scores.size(); ++j)
        if (j != i) product *= below(x - scores[j]);
      return product;
    };
    for (std::size_t k = 0; k + 1 < kinks.size(); ++k) {
      const double width = kinks[k + 1] - kinks[k];
      if (width <= 0) continue;
      // Simpson's rule, fine enough for 1e-10.
      const int pieces = 2 * (200 + static_cast<int>(40 * width / scale));
      double sum = integrand(kinks[k]) + integrand(kinks[k + 1]);
      for (int s = 1; s < pieces; ++s) sum += (s % 2 == 1 ? 4 : 2) * integrand(kinks[k] + width * s / pieces);
      out[i] += sum * width / (3 * pieces);
    }
  }
  return out;
}

}  // namespace parley::privacy::reference
