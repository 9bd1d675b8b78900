// Frank-Wolfe's point for least squares, without margins. Write F(w) = 1/2 w'Qw - <c, w> + |y|^2/(2n) with
// Q = X'X/n + l2 I and c = X'y/n. With w = s v the step keeps, exactly,
//
//   alpha = Qv     p = v'Qv     q = <c, v>
//
//   grad F = s alpha - c      F = s^2 p/2 - s q + |y|^2/(2n)      <grad F, w> = s^2 p - s q
//   curvature towards rho e_j:  (rho e_j - w)'Q(rho e_j - w) = rho^2 Q_jj - 2 rho s alpha_j + s^2 p
//
// Adding a to v_j:  p += 2 a alpha_j + a^2 Q_jj,  q += a c_j,  alpha += a Q_j. Column Q_j is computed the
// first time j is chosen and cached; when the rows of column j hold few nonzeros altogether it is added
// straight from them, which costs no more than reading it back. Selection reads alpha and c once.
//
// A free intercept centres columns and labels: Q_jl loses mean_j mean_l. A penalised one adds a column of
// ones.
#include <algorithm>
#include <cmath>
#include <limits>

#include "parley/algorithms/frank_wolfe_iterate.h"
#include "parley/algorithms/frank_wolfe_scan.h"
#include "parley/linalg/gram.h"
#include "parley/linalg/memory.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

using glm::Intercept;
using linalg::Index;

constexpr std::size_t kLine = 64;  // bytes

class GramIterate final : public FrankWolfeIterate {
 public:
  GramIterate(const Problem& problem, const FrankWolfeSettings& settings)
      : problem_(problem),
        columns_(static_cast<std::size_t>(problem.features.cols())),
        n_(static_cast<double>(problem.labels.size())),
        constant_(problem.objective.intercept == Intercept::kPenalised),
        free_(problem.objective.intercept == Intercept::kFree),
        cache_left_(settings.gram_cache_bytes),
        weights_(columns_ + (constant_ ? 1 : 0)),
        scanned_(2 * linalg::aligned(weights_.unscaled().size() * sizeof(double), kLine)),
        alpha_(reinterpret_cast<double*>(scanned_.data()), weights_.unscaled().size()),
        correlation_(reinterpret_cast<double*>(scanned_.data() + scanned_.size() / 2), alpha_.size()),
        gradient_(alpha_.size()),
        diagonal_(alpha_.size(), std::numeric_limits<double>::quiet_NaN()),
        cached_(alpha_.size()) {
    std::vector<double> labels(problem.labels.begin(), problem.labels.end());
    if (constant_ || free_) {
      means_.assign(alpha_.size(), 1.0);
      const std::vector<double> share(labels.size(), 1.0 / n_);
      problem.features.multiply_transposed(share, std::span(means_).first(columns_));
      for (const double y : labels) mean_label_ += y / n_;
    }
    if (free_)
      for (double& y : labels) y -= mean_label_;
    label_square_ = linalg::squared_norm(labels) / n_;
    linalg::scale(1.0 / n_, labels);
    problem.features.multiply_transposed(labels, correlation_.first(columns_));
    if (constant_) correlation_[columns_] = mean_label_;
  }

  double objective() override {
    const double s = weights_.scale();
    return 0.5 * (s * (s * square_ - 2.0 * cross_) + label_square_);
  }
  double gradient_dot_weights() override {
    const double s = weights_.scale();
    return s * (s * square_ - cross_);
  }
  double gradient_at(std::size_t j) override { return weights_.scale() * alpha_[j] - correlation_[j]; }
  std::span<const double> gradient() override {
    for (std::size_t j = 0; j < gradient_.size(); ++j) gradient_[j] = gradient_at(j);
    return gradient_;
  }
  glm::Vertex steepest(const glm::L1Ball& ball) override {
    const Largest largest = largest_difference(weights_.scale(), alpha_, correlation_);
    return {largest.index, gradient_at(largest.index) > 0 ? -ball.radius : ball.radius};
  }

  Segment segment(const glm::Vertex& vertex) override {
    const double s = weights_.scale();
    const double rho = vertex.value;
    const std::size_t j = vertex.coordinate;
    return {rho * gradient_at(j) - gradient_dot_weights(),
            rho * (rho * diagonal(j) - 2.0 * s * alpha_[j]) + s * s * square_};
  }

  double line_search(const glm::Vertex& vertex) override {
    const Segment along = segment(vertex);
    if (along.slope >= 0) return 0;
    return -along.slope >= along.curvature ? 1.0 : -along.slope / along.curvature;
  }

  void move(const glm::Vertex& vertex, double gamma) override {
    const std::size_t j = vertex.coordinate;
    const auto [fold, added] = weights_.move(vertex, gamma);
    if (fold != 1) {
      linalg::scale(fold, alpha_);
      square_ *= fold * fold;
      cross_ *= fold;
    }
    square_ += added * (2.0 * alpha_[j] + added * diagonal(j));
    cross_ += added * correlation_[j];
    add_column(j, added);
  }

  void finish(Fit& fit) override {
    split_coordinates(weights_, columns_, constant_, fit);
    if (free_) fit.intercepts = {mean_label_ - linalg::dot(means_, fit.weights)};
    std::vector<double> margins(problem_.labels.size(), fit.intercepts.empty() ? 0.0 : fit.intercepts[0]);
    for (std::size_t j = 0; j < columns_; ++j)
      if (fit.weights[j] != 0) problem_.features.column_axpy(static_cast<Index>(j), fit.weights[j], margins);
    fit.objective = glm::evaluate(problem_.objective, margins, problem_.labels, fit.weights, fit.intercepts);
  }

 private:
  [[nodiscard]] double l2() const { return problem_.objective.l2; }

  double diagonal(std::size_t j) {
    double& known = diagonal_[j];
    if (std::isnan(known)) {
      const double square =
          j < columns_ ? problem_.features.column_squared_norm(static_cast<Index>(j)) / n_ : 1.0;
      known = square + l2() - (free_ ? means_[j] * means_[j] : 0.0);
    }
    return known;
  }

  // alpha += a Q_j
  void add_column(std::size_t j, double a) {
    if (cached_[j].empty() && j < columns_ && !free_) {
      // Straight from the rows of column j while they hold fewer nonzeros than half a Gram column.
      const linalg::Matrix& x = problem_.features;
      const double row_nonzeros = static_cast<double>(x.nonzeros()) / n_;
      if (static_cast<double>(x.column(static_cast<Index>(j)).count) * row_nonzeros <=
          0.5 * static_cast<double>(columns_)) {
        const auto target = alpha_.first(columns_);
        x.for_each_in_column(static_cast<Index>(j),
                             [&](Index i, double value) { x.row_axpy(i, a * value / n_, target); });
        alpha_[j] += a * l2();
        if (constant_) alpha_[columns_] += a * means_[j];
        return;
      }
    }
    linalg::axpy(a, column(j), alpha_);
  }

  std::span<const double> column(std::size_t j) {
    if (!cached_[j].empty()) return cached_[j];
    if (passing_at_ == j) return passing_;
    std::vector<double> made = compute(j);
    const std::size_t bytes = made.size() * sizeof(double);
    if (bytes <= cache_left_) {
      cache_left_ -= bytes;
      return cached_[j] = std::move(made);
    }
    passing_ = std::move(made);
    passing_at_ = j;
    return passing_;
  }

  [[nodiscard]] std::vector<double> compute(std::size_t j) const {
    std::vector<double> made(alpha_.size());
    if (j == columns_) {
      made = means_;  // the column of ones
    } else {
      const linalg::Matrix& x = problem_.features;
      const auto target = std::span(made).first(columns_);
      if (4 * x.column(static_cast<Index>(j)).count > static_cast<std::size_t>(x.rows())) {
        std::vector<double> dense(problem_.labels.size());
        x.column_axpy(static_cast<Index>(j), 1.0, dense);
        x.multiply_transposed(dense, target);
      } else {
        linalg::gram_column(x, static_cast<Index>(j), target);
      }
      linalg::scale(1.0 / n_, made);
      if (constant_) made[columns_] = means_[j];
      if (free_) linalg::axpy(-means_[j], means_, made);
    }
    made[j] += l2();
    return made;
  }

  const Problem& problem_;
  const std::size_t columns_;
  const double n_;
  const bool constant_;
  const bool free_;
  std::size_t cache_left_;

  ScaledWeights weights_;
  // Selection reads both from end to end: a wide register that is spread over two lines of the cache is read twice.
  linalg::Memory scanned_;
  std::span<double> alpha_;
  std::span<double> correlation_;  // c
  std::vector<double> gradient_;
  std::vector<double> diagonal_;             // Q_jj where known, else NaN
  std::vector<std::vector<double>> cached_;  // Q_j where known
  std::vector<double> passing_;              // the last column that no longer fitted
  std::size_t passing_at_ = static_cast<std::size_t>(-1);
  std::vector<double> means_;  // of the columns; empty without an intercept
  double square_ = 0;          // p
  double cross_ = 0;           // q
  double label_square_ = 0;    // |y|^2/n
  double mean_label_ = 0;
};

}  // namespace

std::unique_ptr<FrankWolfeIterate> gram_iterate(const Problem& problem, const FrankWolfeSettings& settings) {
  return std::make_unique<GramIterate>(problem, settings);
}

}  // namespace parley::algorithms
