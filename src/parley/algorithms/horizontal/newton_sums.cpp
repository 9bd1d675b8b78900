#include "parley/algorithms/horizontal/newton_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "parley/algorithms/horizontal/local_steps.h"
#include "parley/glm/batch.h"
#include "parley/linalg/gram.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

NewtonSums::NewtonSums(const glm::Objective& objective, const RowShare& share, std::vector<double> parameters)
    : objective_(objective), share_(share), parameters_(std::move(parameters)) {
  const std::vector<double> margins = margins_of(parameters_);
  derivatives_.resize(margins.size());
  curvatures_.resize(margins.size());
  if (share_.labels.empty()) return;
  const double mean = glm::mean_loss_and_derivatives(objective_.task, margins, share_.labels, derivatives_);
  loss_ = mean * static_cast<double>(share_.labels.size());
  glm::loss_curvatures(objective_.task, margins, share_.labels, curvatures_);
  if (!share_.weights.empty()) weigh(margins);
}

// Probabilities of softmax stay: its curvature is weighted where it is made of them.
void NewtonSums::weigh(std::span<const double> margins) {
  const std::size_t records = share_.labels.size();
  const bool softmax = objective_.task == glm::Task::kSoftmax;
  loss_ = 0;
  for (std::size_t i = 0; i < records; ++i) {
    const double weight = share_.weights[i], label = share_.labels[i];
    if (softmax) {
      const double likely = curvatures_[static_cast<std::size_t>(label) * records + i];
      loss_ -= weight == 0 ? 0.0 : weight * std::log(std::max(likely, std::numeric_limits<double>::min()));
    } else {
      loss_ += weight * glm::with_loss(objective_.task, [&](auto loss) { return loss.value(margins[i], label); });
      curvatures_[i] *= weight;
    }
  }
  for (std::size_t at = 0; at < derivatives_.size(); ++at) derivatives_[at] *= share_.weights[at % records];
}

std::vector<double> NewtonSums::margins_of(std::span<const double> parameters) const {
  const auto [weights, intercepts] = separate(objective_, parameters);
  std::vector<double> margins(share_.labels.size() * static_cast<std::size_t>(objective_.classes));
  glm::compute_margins(share_.features, weights, intercepts, margins);
  return margins;
}

std::vector<double> NewtonSums::summed(std::span<const double> coefficients) const {
  const auto columns = static_cast<std::size_t>(share_.features.cols()), records = share_.labels.size();
  const std::size_t width = parameters_.size() / static_cast<std::size_t>(objective_.classes);
  std::vector<double> sums(parameters_.size(), 0.0);
  for (std::size_t k = 0; k * width < sums.size(); ++k) {
    const auto of_class = coefficients.subspan(k * records, records);
    share_.features.multiply_transposed(of_class, std::span(sums).subspan(k * width, columns));
    if (width > columns) sums[k * width + columns] = std::accumulate(of_class.begin(), of_class.end(), 0.0);
  }
  return sums;
}

std::vector<double> NewtonSums::gradient() const {
  return summed(derivatives_);
}

std::vector<double> NewtonSums::gram(std::span<const double> weights) const {
  const auto columns = static_cast<std::size_t>(share_.features.cols());
  const std::size_t width = parameters_.size() / static_cast<std::size_t>(objective_.classes);
  std::vector<double> inner(columns * columns);
  linalg::weighted_gram(share_.features, weights, inner);
  if (width == columns) return inner;
  std::vector<double> square(width * width);
  for (std::size_t j = 0; j < columns; ++j)
    std::copy_n(inner.begin() + static_cast<std::ptrdiff_t>(j * columns), columns,
                square.begin() + static_cast<std::ptrdiff_t>(j * width));
  std::vector<double> border(columns);
  share_.features.multiply_transposed(weights, border);
  for (std::size_t j = 0; j < columns; ++j) square[j * width + columns] = square[columns * width + j] = border[j];
  square.back() = std::accumulate(weights.begin(), weights.end(), 0.0);
  return square;
}

// Blocks of classes k <= l; of one class its own triangle.
std::vector<double> NewtonSums::curvature() const {
  const auto classes = static_cast<std::size_t>(objective_.classes);
  const std::size_t records = share_.labels.size(), size = parameters_.size(), width = size / classes;
  std::vector<double> triangle(size * (size + 1) / 2, 0.0);
  if (records == 0) return triangle;
  const auto row = [&](std::size_t r) { return r * size - r * (r + 1) / 2; };  // triangle[row(r) + c], c >= r
  std::vector<double> weights(records);
  for (std::size_t k = 0; k < classes; ++k)
    for (std::size_t l = k; l < classes; ++l) {
      for (std::size_t i = 0; i < records; ++i) {
        const double here = curvatures_[k * records + i], there = curvatures_[l * records + i];
        weights[i] = classes == 1 ? here : here * ((k == l ? 1 : 0) - there);
        if (classes > 1 && !share_.weights.empty()) weights[i] *= share_.weights[i];
      }
      const std::vector<double> block = gram(weights);
      for (std::size_t a = 0; a < width; ++a)
        for (std::size_t b = k == l ? a : 0; b < width; ++b)
          triangle[row(k * width + a) + l * width + b] = block[a * width + b];
    }
  return triangle;
}

std::vector<double> NewtonSums::curvature_product(std::span<const double> direction) const {
  const auto classes = static_cast<std::size_t>(objective_.classes);
  const std::size_t records = share_.labels.size();
  std::vector<double> along = margins_of(direction);
  for (std::size_t i = 0; i < records; ++i) {
    if (classes == 1) {
      along[i] *= curvatures_[i];
      continue;
    }
    double mean = 0;
    for (std::size_t k = 0; k < classes; ++k) mean += curvatures_[k * records + i] * along[k * records + i];
    for (std::size_t k = 0; k < classes; ++k)
      along[k * records + i] = (share_.weights.empty() ? 1.0 : share_.weights[i]) * curvatures_[k * records + i] *
                               (along[k * records + i] - mean);
  }
  return summed(along);
}

}  // namespace parley::algorithms
