// The running total of a private run's sampled sums, of which an entry's noise is drawn when the entry is read.
//
//   U_t = sum over s <= t of (S_s + Z_s)
//     S_s   the sum over a Poisson sample (batch_sum.h)
//     Z_s   discrete Gaussian noise
//
// Where rows are very sparse most entries of S_s are 0 and nobody asks for most entries of U_s: an entry that was last
// read k steps ago is owed the sum of k noises, which is one discrete Gaussian of k times the variance. The run costs
// what its steps cost, each a sampled Gaussian of a deviation smaller by 2^-40. Proof note: noisy_total.md.
//
// Which entries are drawn when is decided by the data and seen by nobody: what leaves is the whole total at the end.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/gate.h"
#include "parley/privacy/mechanisms/discrete_gaussian.h"
#include "parley/privacy/sensitivity/batch_sum.h"

namespace parley::privacy {

class NoisyTotal {
 public:
  // The proof needs noise of at least 2^22 grains of the sum.
  [[nodiscard]] static bool covers(const BatchSum& sum, Deviation noise);
  // What one step costs, for a reservation.
  [[nodiscard]] static SubsampledGaussian event(const BatchSum& sum, Deviation noise, double rate);

  // The gate must outlive it. The sum is the total's own, because what a batch brought waits there. Weights are entries
  // of the total times `scale`.
  static Result<NoisyTotal> make(Gate& gate, BatchSum sum, Deviation noise, double scale);

  // Weights, up to date in the columns of the batch's rows; others may be behind.
  Result<std::span<const double>> weights_at(const Batch& batch);
  // The same, up to date everywhere.
  Result<std::span<const double>> weights();
  // One step, counted against the reservation: the sum of the batch that was given to weights_at() last, and its
  // noise. Another batch is refused, and so is a number of derivatives that is not K for each of its records. The
  // batch is empty afterwards.
  Result<void> add(Batch&& batch, std::span<const double> derivatives);
  // Every entry, up to date, in the unit of the sum.
  Result<Released<std::vector<double>>> release();

 private:
  NoisyTotal(Gate& gate, BatchSum sum, Deviation noise, double scale);
  // Draws what the first `count` of columns_ are owed (owed_), for every class, and adds what their last batch brought.
  Result<void> settle(std::size_t count);
  Result<void> settle_all();
  void draw(std::span<const std::uint32_t> first_of, std::span<const std::uint32_t> long_owed);
  std::int64_t noise_of(std::int64_t steps);

  static constexpr std::int64_t kTables = 64;  // sums of 1, ..., 64 noises, and of 64, 128, ..., 64^2

  Gate* gate_;
  BatchSum sum_;
  Deviation noise_;
  double scale_;
  std::uint32_t steps_ = 0;
  std::uint64_t expected_ = 0;        // the serial number of the batch whose weights were read; 0: none
  bool broken_ = false;               // the generator failed in between: nothing leaves any more
  std::vector<std::int64_t> counts_;  // in grains, without the sum of the last batch that has the column
  std::vector<double> weights_;
  std::vector<std::uint32_t> settled_;  // by columns: the step up to which noise was drawn
  std::vector<std::optional<DiscreteGaussianNoise>> ones_, many_;
  // Scratch: columns to settle, the steps that each is owed, the columns by that number, and their noise.
  std::vector<std::uint32_t> columns_, owed_, ordered_, long_owed_;
  std::vector<std::int64_t> noise_drawn_;
};

}  // namespace parley::privacy
