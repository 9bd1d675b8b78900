#include "parley/algorithms/sgd_gradient.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "parley/algorithms/private_terms.h"
#include "parley/glm/batch.h"
#include "parley/glm/softmax.h"

namespace parley::algorithms {

using linalg::Index;

namespace {

// A value of a dense column costs a cache line when it is read by rows.
constexpr double kDenseByRow = 8;
// Work on rows picked out one by one, beside the same work in a pass.
constexpr double kPickedRow = 2;

}  // namespace

BatchDerivatives::BatchDerivatives(const Problem& problem)
    : problem_(problem),
      rows_(problem.labels.size()),
      columns_(static_cast<std::size_t>(problem.features.cols())),
      classes_(static_cast<std::size_t>(problem.objective.classes)),
      width_(columns_ + (problem.objective.intercept == glm::Intercept::kNone ? 0 : 1)) {
  const auto n = static_cast<double>(rows_);
  const auto dense = static_cast<double>(problem.features.dense_columns().size());
  const double sparse = std::max(0.0, static_cast<double>(problem.features.nonzeros()) / n - dense);
  row_cost_ = kPickedRow * (sparse + kDenseByRow * dense + 1);
  pass_cost_ = n * (sparse + dense + 1);
  if (problem.privacy == nullptr) return;
  plain_ = problem.features.with_column_scale({});
  exact_.resize(coordinates());
}

bool BatchDerivatives::by_passes(std::size_t batch) const {
  return static_cast<double>(batch) * row_cost_ > pass_cost_;
}

std::span<const double> BatchDerivatives::at(std::span<const double> weights,
                                             std::span<const std::size_t> records) {
  if (problem_.privacy != nullptr) weights = exact(weights);
  if (!by_passes(records.size()) && problem_.privacy != nullptr) {
    margins_.clear();
    for (const std::size_t record : records)
      for (std::size_t k = 0; k < classes_; ++k) {
        margins_.push_back(plain_.row_dot(static_cast<Index>(record), weights.subspan(k * width_, columns_)));
        if (width_ != columns_) margins_.back() += weights[k * width_ + columns_];
      }
    return derive(records);
  }
  if (!by_passes(records.size())) {
    derivatives_.resize(records.size() * classes_);
    for (std::size_t b = 0; b < records.size(); ++b)
      of_record(weights, records[b], std::span(derivatives_).subspan(b * classes_, classes_));
    return derivatives_;
  }
  all(weights);
  if (records.size() == rows_) return derivatives_;
  // Records ascend, so an entry moves down or stays.
  for (std::size_t b = 0; b < records.size(); ++b)
    for (std::size_t k = 0; k < classes_; ++k)
      derivatives_[b * classes_ + k] = derivatives_[records[b] * classes_ + k];
  return std::span(derivatives_).first(records.size() * classes_);
}

std::span<const double> BatchDerivatives::at_rows(std::span<const double> weights,
                                                  std::span<const std::size_t> records) {
  margins_.clear();
  for (const std::size_t record : records)
    for (std::size_t k = 0; k < classes_; ++k) {
      margins_.push_back(order_free_dot(static_cast<Index>(record), weights.subspan(k * width_, columns_)));
      if (width_ != columns_) margins_.back() += weights[k * width_ + columns_];
    }
  return derive(records);
}

std::span<const double> BatchDerivatives::exact(std::span<const double> weights) {
  std::copy(weights.begin(), weights.end(), exact_.begin());  // an intercept as it is
  for (std::size_t k = 0; k < classes_; ++k)
    problem_.privacy->features->exact_weights(weights.subspan(k * width_, columns_),
                                              std::span(exact_).subspan(k * width_, columns_));
  return exact_;
}

double BatchDerivatives::order_free_dot(Index row, std::span<const double> weights) {
  products_.clear();
  double largest = 0;
  problem_.features.for_each_in_row_by_kind(row, [&](Index j, double value) {
    const double product = value * weights[static_cast<std::size_t>(j)];
    if (product == 0) return;
    products_.push_back(product);
    largest = std::fmax(largest, std::abs(product));
  });
  if (!(largest > 0x1p-900) || !std::isfinite(largest)) return largest <= 0x1p-900 ? 0.0 : largest;
  // Fewer than 2^bits products of fewer than 2^(53 - bits) units each.
  const int bits = std::bit_width(products_.size());
  const double unit = std::ldexp(1.0, std::ilogb(largest) + 1 + bits - 53);
  double sum = 0;
  for (const double product : products_) sum += std::nearbyint(product / unit) * unit;
  return sum;
}

std::span<const double> BatchDerivatives::derive(std::span<const std::size_t> records) {
  derivatives_.resize(margins_.size());
  if (problem_.objective.task == glm::Task::kSoftmax) {
    for (std::size_t b = 0; b < records.size(); ++b)
      glm::Softmax::gradient(std::span(margins_).subspan(b * classes_, classes_),
                             static_cast<int>(problem_.labels[records[b]]),
                             std::span(derivatives_).subspan(b * classes_, classes_));
    return derivatives_;
  }
  labels_.clear();
  for (const std::size_t record : records) labels_.push_back(problem_.labels[record]);
  glm::loss_derivatives(problem_.objective.task, margins_, labels_, derivatives_);
  return derivatives_;
}

void BatchDerivatives::of_record(std::span<const double> weights, std::size_t record,
                                 std::span<double> out) const {
  const auto row = static_cast<Index>(record);
  for (std::size_t k = 0; k < classes_; ++k) {
    out[k] = problem_.features.row_dot(row, weights.subspan(k * width_, columns_));
    if (width_ != columns_) out[k] += weights[k * width_ + columns_];
  }
  const double label = problem_.labels[record];
  if (problem_.objective.task == glm::Task::kSoftmax)
    glm::Softmax::gradient(out, static_cast<int>(label), out);
  else
    with_loss(problem_.objective.task, [&](auto loss) { out[0] = loss.derivative(out[0], label); });
}

void BatchDerivatives::all(std::span<const double> weights) {
  const linalg::Matrix& features = problem_.privacy != nullptr ? plain_ : problem_.features;
  margins_.resize(rows_ * classes_);
  derivatives_.resize(rows_ * classes_);
  if (classes_ == 1) {
    features.multiply(weights.first(columns_), margins_);
    if (width_ != columns_)
      for (double& margin : margins_) margin += weights[columns_];
    glm::loss_derivatives(problem_.objective.task, margins_, problem_.labels, derivatives_);
    return;
  }
  packed_.resize(columns_ * classes_);
  for (std::size_t k = 0; k < classes_; ++k)
    std::copy_n(weights.begin() + static_cast<std::ptrdiff_t>(k * width_), columns_,
                packed_.begin() + static_cast<std::ptrdiff_t>(k * columns_));
  features.multiply(packed_, static_cast<int>(classes_), margins_);
  for (std::size_t i = 0; i < rows_; ++i) {
    const auto margins = std::span(margins_).subspan(i * classes_, classes_);
    if (width_ != columns_)
      for (std::size_t k = 0; k < classes_; ++k) margins[k] += weights[k * width_ + columns_];
    glm::Softmax::gradient(margins, static_cast<int>(problem_.labels[i]),
                           std::span(derivatives_).subspan(i * classes_, classes_));
  }
}

PlainBatchSum::PlainBatchSum(const Problem& problem, const BatchDerivatives& shape, double clip)
    : problem_(problem), shape_(shape), clip_(clip), sums_(shape.coordinates()) {
  if (!std::isfinite(clip)) return;
  row_norms_ = problem.features.row_squared_norms();
  const double constant = shape.is_constant(shape.width() - 1) ? 1.0 : 0.0;
  for (double& norm : row_norms_) norm = std::sqrt(norm + constant);
}

double PlainBatchSum::shrink(std::size_t record, std::span<const double> derivatives) const {
  if (row_norms_.empty()) return 1;
  double squares = 0;
  for (const double q : derivatives) squares += q * q;
  const double norm = std::sqrt(squares) * row_norms_[record];
  return norm > clip_ ? clip_ / norm : 1.0;
}

std::span<const double> PlainBatchSum::sum(std::span<const std::size_t> records,
                                           std::span<const double> derivatives) {
  const std::size_t classes = shape_.classes();
  const std::size_t width = shape_.width();
  const auto columns = static_cast<std::size_t>(problem_.features.cols());
  const bool by_passes = shape_.by_passes(records.size());
  if (by_passes) spread_.assign(problem_.labels.size() * classes, 0.0);
  std::fill(sums_.begin(), sums_.end(), 0.0);
  for (std::size_t b = 0; b < records.size(); ++b) {
    const auto q = derivatives.subspan(b * classes, classes);
    const double factor = shrink(records[b], q);
    for (std::size_t k = 0; k < classes; ++k) {
      const double coefficient = factor * q[k];
      const auto plane = std::span(sums_).subspan(k * width, width);
      if (width != columns) plane[columns] += coefficient;
      if (by_passes)
        spread_[records[b] * classes + k] = coefficient;
      else
        problem_.features.row_axpy(static_cast<Index>(records[b]), coefficient, plane.first(columns));
    }
  }
  if (!by_passes) return sums_;
  packed_.resize(columns * classes);
  problem_.features.multiply_transposed(spread_, static_cast<int>(classes), packed_);
  for (std::size_t k = 0; k < classes; ++k)
    std::copy_n(packed_.begin() + static_cast<std::ptrdiff_t>(k * columns), columns,
                sums_.begin() + static_cast<std::ptrdiff_t>(k * width));
  return sums_;
}

}  // namespace parley::algorithms
