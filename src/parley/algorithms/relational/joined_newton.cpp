#include "parley/algorithms/relational/joined_newton.h"

#include <algorithm>

#include "parley/algorithms/exact/newton_systems.h"
#include "parley/algorithms/parts/cholesky.h"
#include "parley/glm/batch.h"
#include "parley/linalg/gram.h"

namespace parley::algorithms {

using linalg::Index;

JoinedNewton::JoinedNewton(const JoinedProblem& problem)
    : objective_(problem.objective),
      labels_(problem.labels),
      classes_(static_cast<std::size_t>(problem.objective.classes)) {
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    blocks_.push_back({problem.features[i].select_rows(problem.rows[i].tuples), problem.rows[i], columns_});
    columns_ += blocks_.back().columns();
  }
  penalties_.assign(columns_ * classes_, objective_.l2);
  margins_.resize(labels_.size() * classes_);
  line_ = derivatives_ = point_ = margins_;
}

void JoinedNewton::set_weights(std::span<const double> weights) {
  multiply(weights, margins_);
  std::fill(line_.begin(), line_.end(), 0.0);
}

LinePoint JoinedNewton::look(double t) {
  for (std::size_t m = 0; m < margins_.size(); ++m) point_[m] = margins_[m] + t * line_[m];
  LinePoint at;
  at.loss = glm::mean_loss_and_derivatives(objective_.task, point_, labels_, derivatives_);
  for (std::size_t m = 0; m < line_.size(); ++m) at.slope += derivatives_[m] * line_[m];
  at.slope /= rows();
  return at;
}

void JoinedNewton::move(double t) {
  for (std::size_t m = 0; m < margins_.size(); ++m) margins_[m] += t * line_[m];
}

void JoinedNewton::newton_step(std::span<const double> gradient, double forcing, std::span<double> step) {
  if (penalties_.size() <= kLargestJoinedHessian && factored_step(gradient, step)) return;
  find_curvatures();
  conjugate_gradients([&](std::span<const double> v, std::span<double> out) { hessian_product(v, out); }, diagonal(),
                      gradient, forcing, step);
}

void JoinedNewton::find_curvatures() {
  curvatures_.resize(margins_.size());
  glm::loss_curvatures(objective_.task, point_, labels_, curvatures_);
}

void JoinedNewton::multiply(std::span<const double> weights, std::span<double> out) const {
  std::fill(out.begin(), out.end(), 0.0);
  for (const Block& block : blocks_) {
    std::vector<double> values(block.slots());
    for (std::size_t k = 0; k < classes_; ++k) {
      block.features.multiply(weights.subspan(k * columns_ + block.first, block.columns()), values);
      add_values(block.rows, values, 1, {0, labels_.size()}, out.subspan(k * labels_.size(), labels_.size()));
    }
  }
}

// (1/N) of the tables' transposes times values of rows.
void JoinedNewton::multiply_transposed(std::span<const double> by_row, std::span<double> out) const {
  for (const Block& block : blocks_) {
    std::vector<double> sums(block.slots());
    for (std::size_t k = 0; k < classes_; ++k) {
      sum_by_slot(block.rows, plane(by_row, k), 1, sums);
      block.features.multiply_transposed(sums, out.subspan(k * columns_ + block.first, block.columns()));
    }
  }
  for (double& entry : out) entry /= rows();
}

// phi'' of a row between two classes; of one class, of the scalar losses.
std::vector<double> JoinedNewton::row_weights(std::size_t k, std::size_t l) const {
  const auto of_class = plane(curvatures_, k);
  std::vector<double> weights(of_class.begin(), of_class.end());
  if (classes_ == 1) return weights;
  const auto other = plane(curvatures_, l);
  for (std::size_t j = 0; j < weights.size(); ++j) weights[j] *= (k == l ? 1 : 0) - other[j];
  return weights;
}

std::vector<double> JoinedNewton::hessian() {
  find_curvatures();
  const std::size_t size = penalties_.size();
  std::vector<double> hessian(size * size, 0.0);
  for (std::size_t k = 0; k < classes_; ++k)
    for (std::size_t l = 0; l <= k; ++l) {
      const std::vector<double> weights = row_weights(k, l);
      for (std::size_t i = 0; i < blocks_.size(); ++i)
        for (std::size_t m = 0; m < (k == l ? i + 1 : blocks_.size()); ++m) add_block({k, i}, {l, m}, weights, hessian);
    }
  for (std::size_t j = 0; j < size; ++j) hessian[j * size + j] += penalties_[j];
  return hessian;
}

// False where rounding leaves no pivot.
bool JoinedNewton::factored_step(std::span<const double> gradient, std::span<double> step) {
  std::vector<double> factor = hessian();
  if (!cholesky(factor, penalties_.size())) return false;
  for (std::size_t j = 0; j < step.size(); ++j) step[j] = -gradient[j];
  cholesky_solve(factor, step.size(), step);
  return true;
}

// Of the lower triangle: the rows of one table and class, the columns of another.
void JoinedNewton::add_block(Place rows_of, Place columns_of, std::span<const double> weights,
                             std::span<double> hessian) {
  const Block& down = blocks_[rows_of.table];
  const Block& across = blocks_[columns_of.table];
  std::vector<double> block(down.columns() * across.columns());
  const bool down_is_outer = down.slots() <= across.slots();
  if (rows_of.table == columns_of.table) {
    std::vector<double> sums(down.slots());
    sum_by_slot(down.rows, weights, 1, sums);
    linalg::weighted_gram(down.features, sums, block);
  } else {
    const Block& outer = down_is_outer ? down : across;
    const Block& inner = down_is_outer ? across : down;
    met(down_is_outer ? rows_of.table : columns_of.table, down_is_outer ? columns_of.table : rows_of.table)
        .block(outer.features, inner.features, weights, block);
  }
  const bool transposed = rows_of.table != columns_of.table && !down_is_outer;
  for (std::size_t j = 0; j < down.columns(); ++j)
    for (std::size_t c = 0; c < across.columns(); ++c)
      hessian[(rows_of.of_class * columns_ + down.first + j) * penalties_.size() + columns_of.of_class * columns_ +
              across.first + c] = block[transposed ? c * down.columns() + j : j * across.columns() + c] / rows();
}

const MetTuples& JoinedNewton::met(std::size_t outer, std::size_t inner) {
  std::optional<MetTuples>& made = met_[{outer, inner}];
  if (!made) made.emplace(blocks_[outer].rows, blocks_[inner].rows);
  return *made;
}

void JoinedNewton::hessian_product(std::span<const double> v, std::span<double> out) const {
  std::vector<double> image(margins_.size());
  multiply(v, image);
  if (classes_ == 1) {
    for (std::size_t j = 0; j < image.size(); ++j) image[j] *= curvatures_[j];
  } else {
    for (std::size_t j = 0; j < labels_.size(); ++j) {
      double mean = 0;
      for (std::size_t k = 0; k < classes_; ++k) mean += plane(curvatures_, k)[j] * plane(image, k)[j];
      for (std::size_t k = 0; k < classes_; ++k) {
        double& entry = image[k * labels_.size() + j];
        entry = plane(curvatures_, k)[j] * (entry - mean);
      }
    }
  }
  multiply_transposed(image, out);
  for (std::size_t j = 0; j < v.size(); ++j) out[j] += penalties_[j] * v[j];
}

std::vector<double> JoinedNewton::diagonal() const {
  std::vector<double> diagonal = penalties_;
  for (std::size_t k = 0; k < classes_; ++k) {
    const std::vector<double> weights = row_weights(k, k);
    for (const Block& block : blocks_) {
      std::vector<double> sums(block.slots());
      sum_by_slot(block.rows, weights, 1, sums);
      for (std::size_t c = 0; c < block.columns(); ++c) {
        double sum = 0;
        block.features.for_each_in_column(static_cast<Index>(c), [&](Index slot, double value) {
          sum += sums[static_cast<std::size_t>(slot)] * value * value;
        });
        diagonal[k * columns_ + block.first + c] += sum / rows();
      }
    }
  }
  return diagonal;
}

}  // namespace parley::algorithms
