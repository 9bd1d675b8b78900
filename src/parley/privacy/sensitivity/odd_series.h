// An odd function of a margin as a series of sines, in whole numbers, so that it can be computed of a margin that
// nobody knows (masking/masked_descent.md):
//
//   s(m) = sum over h = 1, 3, ..., 2K-1 of a_h sin(h w m),   w = 2 pi / L,      m = u - delta in steps of L / 2^p
//        = sum over h of  [a_h sin(h w u)] cos(h w delta)  -  [a_h cos(h w u)] sin(h w delta)
//
// What is in brackets follows from the opened u: whole numbers of 2^-fa. Cosines and sines of delta are whole numbers
// of 2^-ft, of which the parties have shares. a_h = A_h 2^-30 exactly, A_h whole. The series has a period of L and is
// symmetric about L/4: it stands for s on [-L/4, L/4].
//
// bound(): no u and delta give a larger |r|. With x = u - delta, 2^(fa+ft) s(x) is at most its maximum over the 2^p
// values of x; a bracket is off by at most e = 1/2 + 2^(fa-28), a cosine by at most 1/2, so r is off by at most
//   sum over h of sqrt(2) e 2^ft + sqrt(2)/2 2^fa |a_h| + e.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "parley/core/result.h"

namespace parley::privacy {

class OddSeries {
 public:
  struct Shape {
    double period = 40;        // L
    int harmonics = 5;         // K
    int margin_bits = 16;      // p
    int coefficient_bits = 9;  // fa
    int cosine_bits = 7;       // ft
  };
  static Result<OddSeries> make(const Shape& shape, const std::function<double(double)>& function);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] int harmonics() const { return shape_.harmonics; }
  [[nodiscard]] int fraction_bits() const { return shape_.coefficient_bits + shape_.cosine_bits; }
  [[nodiscard]] std::int64_t bound() const { return bound_; }
  [[nodiscard]] const std::string& digest() const { return digest_; }  // of the tables

  // Of harmonic k = 0, ..., K-1 (h = 2k + 1).
  struct Pair {
    std::int64_t of_cosine, of_sine;
  };
  [[nodiscard]] Pair brackets(int k, std::uint32_t u) const {
    const std::uint32_t at = place(k, u);
    return {rounded(factors_[static_cast<std::size_t>(k)] * fine_[at]),
            -rounded(factors_[static_cast<std::size_t>(k)] * fine_[at_cosine(at)])};
  }
  [[nodiscard]] Pair cosine_and_sine(int k, std::uint32_t delta) const {
    const std::uint32_t at = place(k, delta);
    return {coarse_[at_cosine(at)], coarse_[at]};
  }
  [[nodiscard]] double value(double margin) const;  // of the series as it is

 private:
  OddSeries() = default;
  [[nodiscard]] std::uint32_t place(int k, std::uint32_t x) const {
    return (x * static_cast<std::uint32_t>(2 * k + 1)) & mask_;
  }
  [[nodiscard]] std::uint32_t at_cosine(std::uint32_t at) const { return (at + (mask_ + 1) / 4) & mask_; }
  [[nodiscard]] std::int64_t rounded(std::int64_t product) const { return (product + half_) >> shift_; }

  Shape shape_;
  std::uint32_t mask_ = 0;
  int shift_ = 0;
  std::int64_t half_ = 0, bound_ = 0;
  std::vector<std::int64_t> factors_;  // A_h
  std::vector<std::int32_t> fine_;     // round(2^30 sin(2 pi x / 2^p))
  std::vector<std::int32_t> coarse_;   // round(2^ft sin(2 pi x / 2^p))
  std::string digest_;
};

}  // namespace parley::privacy
