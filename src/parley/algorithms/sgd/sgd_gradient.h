// The records' part of stochastic gradient descent: derivatives of the loss at the records of a batch, and
// the sum of their clipped gradients for a run that is not private.
//
// Under privacy a record's derivative is a function of the record and the weights, to the last digit: margins are added
// up exactly (privacy/sensitivity/exact_sums.md, "Margins"), so that neither way nor any other record shows in them.
//
// Two ways with the same meaning, chosen by what the batch and the matrix cost: row by row, or by passes over the whole
// matrix. Coordinates are k*width + j; width = d, plus one for a constant column of ones (an intercept).
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "parley/algorithms/parts/fit.h"
#include "parley/linalg/row_runs.h"

namespace parley::algorithms {

class BatchDerivatives {
 public:
  explicit BatchDerivatives(const Problem& problem);

  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] std::size_t coordinates() const { return width_ * classes_; }
  [[nodiscard]] bool is_constant(std::size_t coordinate) const { return coordinate % width_ == columns_; }
  [[nodiscard]] std::size_t classes() const { return classes_; }
  [[nodiscard]] bool by_passes(std::size_t batch) const;

  // d phi / d m of the records at the weights, record by record; valid until the next call.
  std::span<const double> at(std::span<const double> weights, std::span<const std::size_t> records);
  // The same, always row by row: only the weights of the rows' columns are read.
  std::span<const double> at_rows(std::span<const double> weights, std::span<const std::size_t> records);
  // The rows as single batches read them; made when first asked for.
  const std::shared_ptr<const linalg::RowRuns>& rows();

 private:
  void all(std::span<const double> weights);
  void by_rows(std::span<const double> weights, std::span<const double> scale, std::span<const std::size_t> records);
  // Of the margins of these records, record by record.
  std::span<const double> derive(std::span<const std::size_t> records);
  [[nodiscard]] std::span<const double> exact(std::span<const double> weights);

  const Problem& problem_;
  const std::size_t rows_;
  const std::size_t columns_;
  const std::size_t classes_;
  const std::size_t width_;
  double row_cost_ = 0;              // of one row by itself
  std::optional<double> one_scale_;  // of all columns
  double pass_cost_ = 0;             // of all rows
  linalg::Matrix plain_;             // of a private run: the stored values, without the columns' scale
  std::vector<double> exact_;
  std::shared_ptr<const linalg::RowRuns> runs_;
  std::vector<double> of_class_;
  std::vector<double> labels_;
  std::vector<double> packed_;
  std::vector<double> margins_;
  std::vector<double> derivatives_;
};

// sum over the batch of min(1, clip / ||q_i x_i||) q_i x_i, in floating point. For runs that are not private;
// a private one uses privacy::BatchSum.
class PlainBatchSum {
 public:
  PlainBatchSum(const Problem& problem, const BatchDerivatives& shape, double clip);

  std::span<const double> sum(std::span<const std::size_t> records, std::span<const double> derivatives);

 private:
  [[nodiscard]] double shrink(std::size_t record, std::span<const double> derivatives) const;

  const Problem& problem_;
  const BatchDerivatives& shape_;
  const double clip_;
  std::vector<double> row_norms_;  // empty without a clip
  std::vector<double> spread_;     // derivatives of all records, 0 where absent
  std::vector<double> packed_;
  std::vector<double> sums_;
};

}  // namespace parley::algorithms
