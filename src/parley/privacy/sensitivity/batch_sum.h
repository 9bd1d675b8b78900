// The sum over a Poisson sample of the records' gradients, as private stochastic gradient descent releases it.
//
//   sum over i in the batch of  t_i q_i x_i,       t_i = min(1, C / (|q_i| ||x_i||_2))
//
// A gradient of a linear model is a number times a row, so it is never written down: its norm is |q_i| ||x_i||.
// The clipped coefficient t_i q_i is rounded to a public grid, towards zero where the norm bound C leaves no room
// for more, so that C holds for what is summed; features are on their own grid (grid_features.h), so sums are
// exact in any order. The sum in the features' scale is rounded to a grain, which moves two neighbours apart by at
// most 1.5 sqrt(D) grains more.
//
// Who joined is drawn by the gate and known to nobody else. A release costs a sampled Gaussian whose multiplier is
// sigma over the norm that one record may contribute. Proof note: batch_sum.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "parley/core/result.h"
#include "parley/linalg/row_runs.h"
#include "parley/privacy/mechanisms/poisson_sampling.h"
#include "parley/privacy/sensitivity/grid_features.h"
#include "parley/privacy/values.h"

namespace parley::privacy {

// The records that joined, in order. A batch is summed once: what a second sum would tell about the same records is not
// covered by another sampled Gaussian, which stands for another sample. So it cannot be copied, and sum() uses it up.
class Batch {
 public:
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  Batch(Batch&&) noexcept = default;
  Batch& operator=(Batch&&) noexcept = default;
  [[nodiscard]] std::span<const std::size_t> records() const { return records_; }
  [[nodiscard]] double rate() const { return rate_; }
  [[nodiscard]] std::uint64_t serial() const { return serial_; }  // from 1; no two samples of a process have the same

 private:
  friend class Gate;
  Batch(std::vector<std::size_t> records, double rate);
  std::vector<std::size_t> records_;
  double rate_;
  std::uint64_t serial_;
};

// The sum over a batch. It is released once: the gate uses it up.
struct SampledVector {
  SampledVector(GridVector batch_sum, double sampling_rate) : sum(std::move(batch_sum)), rate(sampling_rate) {}
  SampledVector(const SampledVector&) = delete;
  SampledVector& operator=(const SampledVector&) = delete;
  SampledVector(SampledVector&&) noexcept = default;
  SampledVector& operator=(SampledVector&&) noexcept = default;
  GridVector sum;
  double rate;
};

struct BatchSettings {
  double norm_bound = 1;        // C
  double derivative_bound = 1;  // R: |q_i| is clipped to it first
  int classes = 1;
  bool constant = false;  // one more column of ones, in the row's norm too
  Neighbours neighbours = Neighbours::kReplaceOne;
  Unit unit = Unit::kRecord;
  // at most so much noise will be added, in contributions: the grid need not be finer than it is worth
  double noise_multiplier = 1;
};

// The norms of the rows, a column of ones included if there is one: never below the true ones.
std::vector<double> row_norms_upward(const GridFeatures& features, bool constant);

inline constexpr std::size_t kRowsAhead = 8;  // memory is asked for a row this many rows before it is read

class BatchSum {
 public:
  // `features` must outlive it.
  static Result<BatchSum> make(const GridFeatures& features, const BatchSettings& settings);

  // `derivatives`: K for each record of the batch, in its order. One pass over those rows; the
  // batch is empty afterwards.
  [[nodiscard]] Sensitive<SampledVector, L2> sum(Batch&& batch, std::span<const double> derivatives);

  [[nodiscard]] std::size_t coordinates() const { return width_ * classes_; }
  [[nodiscard]] std::size_t width() const { return width_; }  // coordinates per class
  [[nodiscard]] std::size_t classes() const { return classes_; }
  [[nodiscard]] std::size_t records() const { return row_norms_.size(); }
  [[nodiscard]] Grain grain() const { return grain_; }
  [[nodiscard]] Neighbours neighbours() const { return settings_.neighbours; }
  [[nodiscard]] Unit unit() const { return settings_.unit; }
  // Rows of the features' matrix that someone else made already; else they are copied when first needed.
  void read_rows_from(std::shared_ptr<const linalg::RowRuns> rows) { rows_ = std::move(rows); }
  // The norm one record may contribute, rounding included, in the unit of the sum: sigma over this is the multiplier.
  [[nodiscard]] double contribution() const { return contribution_; }

 private:
  friend class NoisyTotal;  // adds up the same sums entry by entry
  BatchSum(const GridFeatures& features, const BatchSettings& settings);

  const linalg::RowRuns& rows();
  // f(column) over the entries of the batch's rows, repeats included.
  template <class F>
  void for_each_column(const Batch& batch, const F& f);
  // How a record's derivatives become coefficients on the grid.
  struct Clip {
    double shrink = 0;     // t_i; 0 when the derivatives are not numbers
    bool nearest = false;  // there is room for rounding to the nearest; else towards zero
  };
  [[nodiscard]] Clip clip(std::size_t record, std::span<const double> derivatives) const;
  [[nodiscard]] double coefficient(double derivative, const Clip& clip) const;
  // sums_ += the batch's sum in stored units: row by row, or in one pass over the features.
  void add_rows(const Batch& batch, std::span<const double> derivatives);
  void add_pass(const Batch& batch, std::span<const double> derivatives);
  // An entry of sums_ in grains; it starts again from 0.
  [[nodiscard]] std::int64_t take_count(std::size_t coordinate) {
    // A coordinate exists, so width_ > 0.
    const std::size_t column = coordinate < width_ ? coordinate : coordinate % width_;  // NOLINT(clang-analyzer-core.*)
    const double scale = one_scale_ ? *one_scale_ : scale_[column];
    const double sum = sums_[coordinate] * scale * per_grain_;
    sums_[coordinate] = 0;
    const auto towards_zero = static_cast<std::int64_t>(sum);  // floor() may be a call, and this loop is a hot one
    return towards_zero - (sum < static_cast<double>(towards_zero) ? 1 : 0);
  }

  const GridFeatures* features_;
  linalg::Matrix plain_;                         // S
  std::shared_ptr<const linalg::RowRuns> rows_;  // the same, by rows
  BatchSettings settings_;
  std::size_t classes_;
  std::size_t width_;
  double step_ = 1;  // of the coefficients' grid
  Grain grain_;
  double per_grain_ = 1;  // 1 / grain, a power of two
  double contribution_ = 1;
  double derivatives_room_ = 1;      // norm_room(classes)
  std::vector<double> row_norms_;    // of the features as they are, rounded up
  std::vector<double> scale_;        // of each coordinate of a class
  std::optional<double> one_scale_;  // that of all of them
  std::vector<double> sums_;         // in stored units; 0 between sums
  std::vector<double> spread_;       // scratch: the coefficients of all records
};

template <class F>
void BatchSum::for_each_column(const Batch& batch, const F& f) {
  const linalg::RowRuns& runs = rows();
  const std::span<const std::size_t> records = batch.records();
  for (std::size_t b = 0; b < records.size(); ++b) {
    if (b + kRowsAhead < records.size()) runs.prefetch(records[b + kRowsAhead]);
    runs.for_each(records[b], [&](std::uint32_t j, double) { f(j); });
  }
  if (settings_.constant && !records.empty()) f(static_cast<std::uint32_t>(width_ - 1));
}

}  // namespace parley::privacy
