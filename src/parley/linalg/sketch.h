// Random linear maps J from R^n to R^m that keep lengths: E |Jx|^2 = |x|^2. J is a function of its public
// seed and is never stored: entries are made again when needed (public_random.h), the same on every machine.
//
//   Gaussian      J_pr ~ N(0, 1/m)                                              Indyk, Motwani 1998
//   Hadamard      J = R H D / sqrt(m): random signs D, Walsh-Hadamard H of the next power of two N,
//                 m of its N rows without repetition (SRHT)                     Ailon, Chazelle 2006; Tropp 2011
//   CountSketch   one sign in a random row of every column                      Charikar, Chen, Farach-Colton 2002
//   Osnap         s blocks of rows; in each block one entry +-1/sqrt(s) per column    Nelson, Nguyen 2013
//
// Cost of Jx for a column with z nonzeros: z m; min(N log N, z m); z; z s. Results do not depend on the
// number of threads or on the CPU level.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "parley/linalg/matrix.h"
#include "parley/linalg/public_random.h"

namespace parley::linalg {

enum class SketchKind { kGaussian, kHadamard, kCountSketch, kOsnap };

struct SketchShape {
  SketchKind kind = SketchKind::kGaussian;
  Index rows = 0;          // m >= 1; at most N for Hadamard
  Index columns = 0;       // n
  std::uint64_t seed = 0;  // public
  Index blocks = 4;        // s of Osnap, at most m
};

class Sketch {
 public:
  explicit Sketch(const SketchShape& shape);

  [[nodiscard]] Index rows() const { return shape_.rows; }
  [[nodiscard]] Index columns() const { return shape_.columns; }

  void apply(std::span<const double> x, std::span<double> out) const;             // out = J x
  void apply_column(const Matrix& a, Index j, std::span<double> out) const;       // out = J a_j
  void apply(const Matrix& a, std::span<double> out) const;                       // out = J A, column by column
  void apply_transposed(std::span<const double> q, std::span<double> out) const;  // out = J'q

  // max_r |J_r| over the n columns, never below it: what one record of magnitude 1 can add. The Gaussian
  // one makes all m n entries.
  [[nodiscard]] double max_column_norm() const;

  [[nodiscard]] double entry(Index row, Index column) const;  // for tests

 private:
  template <class Entries>
  void accumulate(const Entries& entries, std::size_t count, std::span<double> out) const;
  void gaussian_column(Index r, Index first, Index last, double* out) const;
  [[nodiscard]] double hadamard_sign(Index r) const;
  struct Place {
    Index row;
    double value;
  };
  [[nodiscard]] Place place(Index r, Index block) const;  // of CountSketch and Osnap
  void transform(std::vector<double>& x) const;           // H x, in place

  SketchShape shape_;
  PublicRandom random_;
  double unit_ = 1;            // magnitude of an entry; standard deviation for Gaussian
  std::size_t padded_ = 1;     // N
  std::vector<Index> chosen_;  // rows of H
};

}  // namespace parley::linalg
