// Public randomness for synthetic data and splits: the same seed gives the same bits on every machine.
// It is not secret: privacy noise never comes from here.
//
//   stream (seed, a, b)   xoshiro256** state, filled by SplitMix64           Blackman & Vigna 2021; Steele et al. 2014
//   uniform               (top 52 bits + 1/2) / 2^52, never 0 or 1
//   normal                Marsaglia's polar method, pairs used in order      Marsaglia & Bray 1964
//   gamma(shape)          squeeze, by logarithms below shape 1               Marsaglia & Tsang 2000
//
// Logarithm and exponential are computed here from + - * / alone, which IEEE 754 rounds the same way
// everywhere; those of the C library differ in the last bit from one version to the next.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace parley::data {

double portable_log(double x);    // x > 0 and normal
double portable_log1p(double x);  // x > -1
double portable_exp(double x);    // 0 below -708, refuses nothing: infinity above 709

class Random {
 public:
  // Streams with different numbers are independent: one per purpose and row makes the order of work irrelevant.
  explicit Random(std::uint64_t seed, std::uint64_t purpose = 0, std::uint64_t number = 0);

  std::uint64_t bits();
  double uniform();                        // in (0, 1)
  std::uint64_t below(std::uint64_t end);  // uniform on 0 .. end-1, without bias; end > 0
  double normal();
  double log_gamma_variate(double shape);  // logarithm of a Gamma(shape, 1) draw; exact for tiny shapes too

 private:
  std::array<std::uint64_t, 4> state_;
  std::optional<double> spare_normal_;
};

// Visits the successes of `trials` independent Bernoulli(p) trials in O(successes): the gaps are geometric.
class Successes {
 public:
  Successes(double probability, std::uint64_t trials);
  // f(trial) for every success, ascending.
  template <class F>
  void draw(Random& random, F&& f) const {
    for (std::uint64_t at = gap(random); at < trials_; at += 1 + gap(random)) f(at);
  }

 private:
  std::uint64_t gap(Random& random) const;
  std::uint64_t trials_;
  double inverse_log_failure_;  // 1 / ln(1 - p); 0 when p = 1
};

// `count` distinct numbers of 0 .. end-1, ascending. Floyd 1987: O(count) draws.
std::vector<std::uint64_t> distinct_numbers(Random& random, std::uint64_t count, std::uint64_t end);

// Fisher-Yates.
void shuffle(Random& random, std::span<std::uint32_t> items);

// One point of the simplex, Dirichlet(alpha, ..., alpha).
std::vector<double> dirichlet(Random& random, double alpha, std::size_t parts);

}  // namespace parley::data
