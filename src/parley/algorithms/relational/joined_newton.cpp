#include "parley/algorithms/relational/joined_newton.h"

#include <algorithm>

#include "parley/algorithms/exact/newton_systems.h"
#include "parley/algorithms/parts/cholesky.h"
#include "parley/glm/batch.h"
#include "parley/linalg/gram.h"

namespace parley::algorithms {

using linalg::Index;

namespace {

constexpr std::size_t kLargestDense = std::size_t{1} << 24;  // 128 MB

}  // namespace

JoinedNewton::JoinedNewton(const JoinedProblem& problem)
    : objective_(problem.objective),
      labels_(problem.labels),
      classes_(static_cast<std::size_t>(problem.objective.classes)) {
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    blocks_.push_back({problem.features[i].select_rows(problem.rows[i].tuples), problem.rows[i], columns_, {}});
    Block& block = blocks_.back();
    if (block.slots() * block.columns() <= kLargestDense) {
      block.dense.resize(block.slots() * block.columns());
      for (std::size_t c = 0; c < block.columns(); ++c)
        block.features.for_each_in_column(static_cast<Index>(c), [&](Index slot, double value) {
          block.dense[static_cast<std::size_t>(slot) * block.columns() + c] = value;
        });
    }
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
    std::vector<double> by_inner(block.size());  // a row for each column of `inner`
    outer.features.multiply_transposed(weighted_sums(outer, inner, weights), static_cast<int>(inner.columns()),
                                       by_inner);
    for (std::size_t k = 0; k < inner.columns(); ++k)
      for (std::size_t j = 0; j < outer.columns(); ++j)
        block[j * inner.columns() + k] = by_inner[k * outer.columns() + j];
  }
  const bool transposed = rows_of.table != columns_of.table && !down_is_outer;
  for (std::size_t j = 0; j < down.columns(); ++j)
    for (std::size_t c = 0; c < across.columns(); ++c)
      hessian[(rows_of.of_class * columns_ + down.first + j) * penalties_.size() + columns_of.of_class * columns_ +
              across.first + c] = block[transposed ? c * down.columns() + j : j * across.columns() + c] / rows();
}

void JoinedNewton::add_tuple(const Block& block, Index slot, double weight, std::span<double> sum) {
  if (block.dense.empty()) {
    block.features.for_each_in_row_by_kind(
        slot, [&](Index column, double value) { sum[static_cast<std::size_t>(column)] += weight * value; });
    return;
  }
  const double* values = &block.dense[static_cast<std::size_t>(slot) * sum.size()];
  for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += weight * values[c];
}

// W X_inner, a row for each slot of `outer`. Where tuples could meet in fewer ways than there are rows, the weights of those
// that do are added up first.
std::vector<double> JoinedNewton::weighted_sums(const Block& outer, const Block& inner,
                                                std::span<const double> weights) const {
  const std::size_t columns = inner.columns(), slots = inner.slots();
  std::vector<double> sums(outer.slots() * columns, 0.0);
  if (columns == 0) return sums;
  const auto sum_of = [&](std::size_t slot) { return std::span(sums).subspan(slot * columns, columns); };
  const auto for_each_met = [&](const auto& take) {
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const Index o = outer.rows.slots[j], i = inner.rows.slots[j];
      if (o >= 0 && i >= 0) take(static_cast<std::size_t>(o), i, weights[j]);
    }
  };
  if (outer.slots() * slots > weights.size() / 2) {
    for_each_met([&](std::size_t o, Index i, double weight) { add_tuple(inner, i, weight, sum_of(o)); });
    return sums;
  }
  std::vector<double> met(outer.slots() * slots, 0.0);
  for_each_met([&](std::size_t o, Index i, double weight) { met[o * slots + static_cast<std::size_t>(i)] += weight; });
  for (std::size_t o = 0; o < outer.slots(); ++o)
    for (std::size_t i = 0; i < slots; ++i)
      if (met[o * slots + i] != 0) add_tuple(inner, static_cast<Index>(i), met[o * slots + i], sum_of(o));
  return sums;
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
