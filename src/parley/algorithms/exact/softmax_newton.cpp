#include "parley/algorithms/exact/softmax_newton.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "parley/algorithms/exact/newton_systems.h"
#include "parley/algorithms/parts/cholesky.h"
#include "parley/core/threads.h"

namespace parley::algorithms {

namespace {

constexpr std::size_t kGrain = 512;           // rows
constexpr std::size_t kLargestSquare = 1500;  // weights

class SoftmaxProblem : public NewtonProblem {
 public:
  SoftmaxProblem(const Problem& problem, const CompactRows& rows, std::span<const double> penalties)
      : classes_(static_cast<std::size_t>(problem.objective.classes)),
        rows_(rows),
        penalties_(penalties),
        labels_(problem.labels.begin(), problem.labels.end()),
        margins_(rows.rows() * classes_),
        line_(margins_.size()),
        probabilities_(margins_.size()) {}

  [[nodiscard]] std::span<const double> penalties() const override { return penalties_; }

  void set_weights(std::span<const double> weights) override {
    rows_.multiply(weights, margins_, classes_);
    std::fill(line_.begin(), line_.end(), 0.0);
  }

  void set_line(std::span<const double> step) override { rows_.multiply(step, line_, classes_); }

  LinePoint look(double t) override {
    std::vector<LinePoint> parts(chunk_count(rows_.rows(), kGrain));
    parallel_chunks(rows_.rows(), kGrain, [&](std::size_t begin, std::size_t end) {
      LinePoint& part = parts[begin / kGrain];
      for (std::size_t i = begin; i < end; ++i) look_at_row(i, t, part);
    });
    LinePoint total;
    for (const LinePoint& part : parts) {
      total.loss += part.loss;
      total.slope += part.slope;
    }
    total.loss /= static_cast<double>(rows_.rows());
    total.slope /= static_cast<double>(rows_.rows());
    return total;
  }

  void move(double t) override {
    for (std::size_t e = 0; e < margins_.size(); ++e) margins_[e] += t * line_[e];
  }

  void loss_gradient(std::span<double> gradient) override {
    std::vector<double> derivatives = probabilities_;
    for (std::size_t i = 0; i < labels_.size(); ++i) derivatives[i * classes_ + labels_[i]] -= 1;
    rows_.multiply_transposed(derivatives, gradient, classes_);
    for (double& g : gradient) g /= static_cast<double>(rows_.rows());
  }

  void newton_step(std::span<const double> gradient, double forcing, std::span<double> step) override {
    if (gradient.size() <= kLargestSquare) return factored_step(gradient, step);
    const auto n = static_cast<double>(rows_.rows());
    std::vector<double> diagonal(gradient.size());
    std::vector<double> images(margins_.size());
    curvature_diagonal(diagonal);
    const auto product = [&](std::span<const double> v, std::span<double> out) {
      rows_.multiply(v, images, classes_);
      parallel_chunks(rows_.rows(), kGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const double* p = probabilities_.data() + i * classes_;
          double* u = images.data() + i * classes_;
          double mean = 0;
          for (std::size_t k = 0; k < classes_; ++k) mean += p[k] * u[k];
          for (std::size_t k = 0; k < classes_; ++k) u[k] = p[k] * (u[k] - mean) / n;
        }
      });
      rows_.multiply_transposed(images, out, classes_);
      for (std::size_t j = 0; j < out.size(); ++j) out[j] += penalties_[j] * v[j];
    };
    conjugate_gradients(product, diagonal, gradient, forcing, step);
  }

  double duality_gap(std::span<const double> weights) override {
    const auto n = static_cast<long double>(rows_.rows());
    std::vector<long double> count(classes_);
    std::vector<long double> surplus(classes_);
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      count[labels_[i]] += 1;
      surplus[labels_[i]] -= 1;
      for (std::size_t k = 0; k < classes_; ++k) surplus[k] += probabilities_[i * classes_ + k];
    }
    long double share = 0;
    for (std::size_t k = 0; k < classes_; ++k)
      share = std::max(share, surplus[k] > 0 ? surplus[k] / (count[k] + surplus[k]) : 0.0L);
    std::vector<long double> shift(classes_);  // s q
    for (std::size_t k = 0; k < classes_; ++k)
      shift[k] = std::max(0.0L, (share * count[k] - (1 - share) * surplus[k]) / n);
    std::vector<double> dual(probabilities_.size());
    long double mismatch = 0;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const double* m = margins_.data() + i * classes_;
      const double top = *std::max_element(m, m + classes_);
      long double total = 0;
      for (std::size_t k = 0; k < classes_; ++k) total += std::exp(static_cast<long double>(m[k] - top));
      mismatch += std::log(total) + top - m[labels_[i]];
      for (std::size_t k = 0; k < classes_; ++k) {
        const long double p = (1 - share) * probabilities_[i * classes_ + k] + shift[k];
        mismatch += p > 0 ? p * std::log(p) : 0;
        dual[i * classes_ + k] = static_cast<double>(p) - (k == labels_[i] ? 1.0 : 0.0);
      }
    }
    std::vector<double> image(weights.size());
    rows_.multiply_transposed(dual, image, classes_);
    return static_cast<double>(mismatch / n + penalty_mismatch(penalties_, weights, image, n));
  }

  [[nodiscard]] bool separated() const override {
    for (std::size_t i = 0; i < labels_.size(); ++i)
      for (std::size_t k = 0; k < classes_; ++k)
        if (k != labels_[i] && !(margins_[i * classes_ + labels_[i]] > margins_[i * classes_ + k])) return false;
    return true;
  }

  [[nodiscard]] double line_size() const override {
    double largest = 0;
    for (std::size_t i = 0; i < labels_.size(); ++i)
      for (std::size_t k = 0; k < classes_; ++k)
        largest = std::max(largest, std::abs(line_[i * classes_ + k] - line_[i * classes_ + labels_[i]]));
    return largest;
  }

 private:
  void look_at_row(std::size_t i, double t, LinePoint& part) {
    const double* m = margins_.data() + i * classes_;
    const double* q = line_.data() + i * classes_;
    double* p = probabilities_.data() + i * classes_;
    double top = m[0] + t * q[0];
    for (std::size_t k = 0; k < classes_; ++k) {
      p[k] = m[k] + t * q[k];
      top = std::max(top, p[k]);
    }
    const std::size_t y = labels_[i];
    const double own = p[y] - top;
    double others = 0;  // apart from the label's own term, to keep small losses exact
    for (std::size_t k = 0; k < classes_; ++k) {
      p[k] = std::exp(p[k] - top);
      if (k != y) others += p[k];
    }
    const double total = others + p[y];
    part.loss += own == 0 ? std::log1p(others) : std::log(total) - own;
    double slope = -q[y];
    for (std::size_t k = 0; k < classes_; ++k) {
      p[k] /= total;
      slope += p[k] * q[k];
    }
    part.slope += slope;
  }

  void curvature_diagonal(std::span<double> diagonal) const {
    const auto n = static_cast<double>(rows_.rows());
    std::copy(penalties_.begin(), penalties_.end(), diagonal.begin());
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const double* p = probabilities_.data() + i * classes_;
      rows_.for_each_in_row(i, [&](std::size_t column, double value) {
        double* to = diagonal.data() + column * classes_;
        const double square = value * value / n;
        for (std::size_t k = 0; k < classes_; ++k) to[k] += p[k] * (1 - p[k]) * square;
      });
    }
  }

  // One weighted Gram matrix per pair of classes.
  void factored_step(std::span<const double> gradient, std::span<double> step) {
    const std::size_t d = rows_.columns();
    const std::size_t size = gradient.size();
    const auto n = static_cast<double>(rows_.rows());
    std::vector<double> square(size * size);
    std::vector<double> block(d * d);
    std::vector<double> weight(rows_.rows());
    for (std::size_t k = 0; k < classes_; ++k)
      for (std::size_t l = 0; l <= k; ++l) {
        for (std::size_t i = 0; i < weight.size(); ++i) {
          const double* p = probabilities_.data() + i * classes_;
          weight[i] = p[k] * ((k == l ? 1.0 : 0.0) - p[l]) / n;
        }
        rows_.gram(weight, block);
        for (std::size_t a = 0; a < d; ++a)
          for (std::size_t b = 0; b <= a; ++b) {
            square[(a * classes_ + k) * size + b * classes_ + l] = block[a * d + b];
            square[(a * classes_ + l) * size + b * classes_ + k] = block[a * d + b];
          }
      }
    double largest = 0;
    for (std::size_t j = 0; j < size; ++j) {
      square[j * size + j] += penalties_[j];
      largest = std::max(largest, square[j * size + j]);
    }
    if (!(largest > 0)) largest = 1;
    // Without a penalty a shift of all classes costs nothing and the matrix is singular.
    std::vector<double> factor = square;
    for (double ridge = 1e-13 * largest; !cholesky(factor, size); ridge *= 10) {
      factor = square;
      for (std::size_t j = 0; j < size; ++j) factor[j * size + j] += ridge;
    }
    for (std::size_t j = 0; j < size; ++j) step[j] = -gradient[j];
    cholesky_solve(factor, size, step);
  }

  std::size_t classes_;
  const CompactRows& rows_;
  std::span<const double> penalties_;
  std::vector<std::size_t> labels_;
  std::vector<double> margins_;
  std::vector<double> line_;
  std::vector<double> probabilities_;
};

}  // namespace

std::unique_ptr<NewtonProblem> softmax_problem(const Problem& problem, const CompactRows& rows,
                                               std::span<const double> penalties) {
  return std::make_unique<SoftmaxProblem>(problem, rows, penalties);
}

}  // namespace parley::algorithms
