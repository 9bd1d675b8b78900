#include "parley/algorithms/sgd/sgd_gradient.h"

#include <algorithm>
#include <cmath>

#include "parley/algorithms/parts/private_terms.h"
#include "parley/glm/batch.h"
#include "parley/glm/softmax.h"

namespace parley::algorithms {

using linalg::Index;

namespace {

// A value of a dense column costs a cache line when it is read by rows.
constexpr double kDenseByRow = 8;
// Work on rows picked out one by one, beside the same work in a pass.
constexpr double kPickedRow = 2;

// The power of two that all columns are scaled by, if they are: it changes no bit whether a product or the
// sum of them is multiplied by it.
std::optional<double> one_power_of_two(const linalg::Matrix& features) {
  const std::span<const double> scale = features.column_scale();
  std::optional<double> one;
  for (std::size_t j = 0; j < scale.size(); ++j) {
    if (features.stored_columns()[j].count == 0) continue;
    if (scale[j] != one.value_or(scale[j])) return std::nullopt;
    one = scale[j];
  }
  int exponent = 0;
  const bool power = one && std::abs(std::frexp(*one, &exponent)) == 0.5 && std::abs(exponent) < 256;
  return power ? one : std::nullopt;
}

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
  one_scale_ = one_power_of_two(problem.features);
  if (problem.privacy == nullptr) return;
  plain_ = problem.features.with_column_scale({});
  exact_.resize(coordinates());
}

bool BatchDerivatives::by_passes(std::size_t batch) const {
  return static_cast<double>(batch) * row_cost_ > pass_cost_;
}

std::span<const double> BatchDerivatives::at(std::span<const double> weights, std::span<const std::size_t> records) {
  if (problem_.privacy != nullptr) weights = exact(weights);
  if (!by_passes(records.size())) {
    const auto scale = problem_.features.column_scale();
    by_rows(weights, problem_.privacy != nullptr ? std::span<const double>() : scale, records);
    return derive(records);
  }
  all(weights);
  if (records.size() == rows_) return derivatives_;
  // Records ascend, so an entry moves down or stays.
  for (std::size_t b = 0; b < records.size(); ++b)
    for (std::size_t k = 0; k < classes_; ++k) derivatives_[b * classes_ + k] = derivatives_[records[b] * classes_ + k];
  return std::span(derivatives_).first(records.size() * classes_);
}

std::span<const double> BatchDerivatives::at_rows(std::span<const double> weights,
                                                  std::span<const std::size_t> records) {
  by_rows(weights, problem_.features.column_scale(), records);
  return derive(records);
}

const std::shared_ptr<const linalg::RowRuns>& BatchDerivatives::rows() {
  if (!runs_) runs_ = std::make_shared<const linalg::RowRuns>(problem_.features);
  return runs_;
}

// Products of a row are added up by the order of its own nonzeros: how other records made the matrix store its columns
// does not show in the sum.
void BatchDerivatives::by_rows(std::span<const double> weights, std::span<const double> scale,
                               std::span<const std::size_t> records) {
  of_class_.resize(records.size());
  margins_.resize(records.size() * classes_);
  for (std::size_t k = 0; k < classes_; ++k) {
    const auto plane = weights.subspan(k * width_, width_);
    if (!scale.empty() && one_scale_) {
      rows()->dots(records, plane.first(columns_), {}, of_class_);
      for (double& margin : of_class_) margin *= *one_scale_;
    } else {
      rows()->dots(records, plane.first(columns_), scale, of_class_);
    }
    const double intercept = width_ != columns_ ? plane[columns_] : 0.0;
    for (std::size_t b = 0; b < records.size(); ++b) margins_[b * classes_ + k] = of_class_[b] + intercept;
  }
}

std::span<const double> BatchDerivatives::exact(std::span<const double> weights) {
  std::copy(weights.begin(), weights.end(), exact_.begin());  // an intercept as it is
  for (std::size_t k = 0; k < classes_; ++k)
    problem_.privacy->features->exact_weights(weights.subspan(k * width_, columns_),
                                              std::span(exact_).subspan(k * width_, columns_));
  return exact_;
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

std::span<const double> PlainBatchSum::sum(std::span<const std::size_t> records, std::span<const double> derivatives) {
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
