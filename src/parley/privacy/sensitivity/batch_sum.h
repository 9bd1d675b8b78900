// The sum over a Poisson sample of the records' gradients, as private stochastic gradient descent releases it.
//
//   sum over i in the batch of  t_i q_i x_i,   t_i = min(1, C / (|q_i| ||x_i||_2))
//
// A gradient of a linear model is a number times a row, so it is never written down: its norm is |q_i| ||x_i||. The
// clipped coefficient t_i q_i is rounded towards zero to a public grid, so that the norm bound C holds for what is
// summed; features are on their own grid (grid_features.h), so sums are exact in any order. The sum in the features'
// scale is rounded to a grain, which moves two neighbours apart by at most 1.5 sqrt(D) grains more.
//
// Who joined is drawn by the gate and known to nobody else. Cost: a sampled Gaussian of multiplier sigma over the norm
// one record may contribute. Proof note: exact_sums.md.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/mechanisms/poisson_sampling.h"
#include "parley/privacy/sensitivity/grid_features.h"
#include "parley/privacy/values.h"

namespace parley::privacy {

// The records that joined, in order.
class Batch {
 public:
  [[nodiscard]] std::span<const std::size_t> records() const { return records_; }
  [[nodiscard]] double rate() const { return rate_; }

 private:
  friend class Gate;
  Batch(std::vector<std::size_t> records, double rate) : records_(std::move(records)), rate_(rate) {}
  std::vector<std::size_t> records_;
  double rate_;
};

struct SampledVector {
  GridVector sum;
  double rate = 1;
};

struct BatchSettings {
  double norm_bound = 1;        // C
  double derivative_bound = 1;  // R: |q_i| is clipped to it first
  int classes = 1;
  bool constant = false;  // one more column of ones, in the row's norm too
  Neighbours neighbours = Neighbours::kReplaceOne;
  Unit unit = Unit::kRecord;
};

class BatchSum {
 public:
  // `features` must outlive it.
  static Result<BatchSum> make(const GridFeatures& features, const BatchSettings& settings);

  // `derivatives`: K for each record of the batch, in its order. One pass over those rows.
  [[nodiscard]] Sensitive<SampledVector, L2> sum(const Batch& batch, std::span<const double> derivatives);

  [[nodiscard]] std::size_t coordinates() const { return width_ * classes_; }
  [[nodiscard]] Grain grain() const { return grain_; }
  // The norm one record may contribute, rounding included, in the unit of the sum: sigma over this is the multiplier.
  [[nodiscard]] double contribution() const { return contribution_; }

 private:
  BatchSum(const GridFeatures& features, const BatchSettings& settings);

  const GridFeatures* features_;
  linalg::Matrix plain_;  // S
  BatchSettings settings_;
  std::size_t classes_;
  std::size_t width_;
  double step_ = 1;  // of the coefficients' grid
  Grain grain_;
  double contribution_ = 1;
  std::vector<double> row_norms_;  // of the features as they are, rounded up
  std::vector<double> scale_;      // of each coordinate of a class
  std::vector<double> sums_;       // scratch
};

}  // namespace parley::privacy
