// Frank-Wolfe's point for least squares, without margins. With w = s v, everything a step needs is kept
// exact:
//
//   alpha = X'(Xv)/n     p = |Xv|^2/n     q = <Xv, y>/n     c = X'y/n
//
//   grad F = s alpha - c + l2 w          F = (s^2 p - 2 s q + |y|^2/n)/2 + l2/2 ||w||^2
//   ||X(rho e_j - w)||^2/n = rho^2 G_jj - 2 rho s alpha_j + s^2 p
//
// Adding a to v_j:  p += 2 a alpha_j + a^2 G_jj,  q += a c_j,  alpha += a G_j,  with G_j = X'x_j/n computed
// the first time column j is chosen. A free intercept centres the columns: G_jl - mean_j mean_l takes the
// place of G_jl and y - mean y that of y; the means stay apart, so that sparse Gram columns stay sparse.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "parley/algorithms/frank_wolfe_iterate.h"
#include "parley/linalg/gram.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

using glm::Intercept;

// X'x_j/n, sparse when that is less to read.
struct GramColumn {
  std::vector<linalg::Index> rows;  // empty when dense
  std::vector<double> values;
  double diagonal = 0;

  [[nodiscard]] std::size_t bytes() const {
    return rows.size() * sizeof(linalg::Index) + values.size() * sizeof(double);
  }
  void add_to(std::span<double> target, double factor) const {
    if (rows.empty()) {
      for (std::size_t l = 0; l < values.size(); ++l) target[l] += factor * values[l];
    } else {
      for (std::size_t k = 0; k < values.size(); ++k)
        target[static_cast<std::size_t>(rows[k])] += factor * values[k];
    }
  }
};

class GramIterate final : public FrankWolfeIterate {
 public:
  GramIterate(const Problem& problem, const FrankWolfeSettings& settings)
      : problem_(problem),
        columns_(static_cast<std::size_t>(problem.features.cols())),
        constant_(problem.objective.intercept == Intercept::kPenalised),
        free_(problem.objective.intercept == Intercept::kFree),
        cache_left_(settings.gram_cache_bytes),
        weights_(columns_ + (constant_ ? 1 : 0)),
        alpha_(columns_ + (constant_ ? 1 : 0)),
        gradient_(alpha_.size()) {
    const double n = static_cast<double>(problem.labels.size());
    std::vector<double> labels(problem.labels.begin(), problem.labels.end());
    if (constant_ || free_) {
      means_.assign(alpha_.size(), 1.0);
      const std::vector<double> share(labels.size(), 1.0 / n);
      problem.features.multiply_transposed(share, std::span(means_).first(columns_));
      for (const double y : labels) mean_label_ += y / n;
    }
    if (free_)
      for (double& y : labels) y -= mean_label_;
    label_square_ = linalg::squared_norm(labels) / n;
    linalg::scale(1.0 / n, labels);
    correlation_.resize(alpha_.size());
    problem.features.multiply_transposed(labels, std::span(correlation_).first(columns_));
    if (constant_) correlation_[columns_] = mean_label_;
    refresh_gradient();
  }

  double objective() override {
    const double s = weights_.scale();
    return 0.5 * (s * (s * square_ - 2.0 * cross_) + label_square_) + 0.5 * l2() * weights_.squared_norm();
  }
  double gradient_dot_weights() override {
    const double s = weights_.scale();
    return s * (s * square_ - cross_) + l2() * weights_.squared_norm();
  }
  std::span<const double> gradient() override { return gradient_; }
  double gradient_at(std::size_t coordinate) override { return gradient_[coordinate]; }
  glm::Vertex steepest(const glm::L1Ball& ball) override { return ball.minimise_linear(gradient_); }

  Segment segment(const glm::Vertex& vertex) override {
    const double s = weights_.scale();
    const double rho = vertex.value;
    const std::size_t j = vertex.coordinate;
    const double diagonal = gram(j).diagonal - (free_ ? means_[j] * means_[j] : 0.0);
    return {rho * gradient_[j] - gradient_dot_weights(), rho * (rho * diagonal - 2.0 * s * centred_alpha(j)) +
                                                             s * s * square_ +
                                                             l2() * weights_.squared_distance(vertex)};
  }

  double line_search(const glm::Vertex& vertex) override {
    const Segment along = segment(vertex);
    if (along.slope >= 0) return 0;
    return -along.slope >= along.curvature ? 1.0 : -along.slope / along.curvature;
  }

  void move(const glm::Vertex& vertex, double gamma) override {
    const std::size_t j = vertex.coordinate;
    const GramColumn& column = gram(j);
    const auto [fold, added] = weights_.move(vertex, gamma);
    if (fold != 1) {
      linalg::scale(fold, alpha_);
      square_ *= fold * fold;
      cross_ *= fold;
      mean_margin_ *= fold;
    }
    const double diagonal = column.diagonal - (free_ ? means_[j] * means_[j] : 0.0);
    square_ += added * (2.0 * centred_alpha(j) + added * diagonal);
    cross_ += added * correlation_[j];
    column.add_to(alpha_, added);
    if (free_) mean_margin_ += added * means_[j];
    refresh_gradient();
  }

  void finish(Fit& fit) override {
    split_coordinates(weights_, columns_, constant_, fit);
    if (free_) fit.intercepts = {mean_label_ - weights_.scale() * mean_margin_};
    std::vector<double> margins(problem_.labels.size(), fit.intercepts.empty() ? 0.0 : fit.intercepts[0]);
    for (std::size_t j = 0; j < columns_; ++j)
      if (fit.weights[j] != 0)
        problem_.features.column_axpy(static_cast<linalg::Index>(j), fit.weights[j], margins);
    fit.objective = glm::evaluate(problem_.objective, margins, problem_.labels, fit.weights, fit.intercepts);
  }

 private:
  [[nodiscard]] double l2() const { return problem_.objective.l2; }
  [[nodiscard]] double centred_alpha(std::size_t j) const {
    return free_ ? alpha_[j] - mean_margin_ * means_[j] : alpha_[j];
  }

  void refresh_gradient() {
    const double s = weights_.scale();
    for (std::size_t j = 0; j < alpha_.size(); ++j) gradient_[j] = s * alpha_[j] - correlation_[j];
    if (free_) linalg::axpy(-s * mean_margin_, means_, gradient_);
    if (l2() != 0) linalg::axpy(l2() * s, weights_.unscaled(), gradient_);
  }

  GramColumn compute(std::size_t j) const {
    std::vector<double> dense(alpha_.size());
    if (j == columns_) {  // the column of ones
      dense = means_;
    } else {
      linalg::gram_column(problem_.features, static_cast<linalg::Index>(j), std::span(dense).first(columns_));
      linalg::scale(1.0 / static_cast<double>(problem_.labels.size()), dense);
      if (constant_) dense[columns_] = means_[j];
    }
    GramColumn column{.diagonal = dense[j]};
    const auto zeros = static_cast<std::size_t>(std::count(dense.begin(), dense.end(), 0.0));
    if (dense.size() - zeros > dense.size() / 4) {
      column.values = std::move(dense);
      return column;
    }
    for (std::size_t l = 0; l < dense.size(); ++l) {
      if (dense[l] == 0) continue;
      column.rows.push_back(static_cast<linalg::Index>(l));
      column.values.push_back(dense[l]);
    }
    return column;
  }

  const GramColumn& gram(std::size_t j) {
    if (const auto found = cache_.find(j); found != cache_.end()) return found->second;
    if (passing_at_ == j) return passing_;
    GramColumn column = compute(j);
    if (column.bytes() <= cache_left_) {
      cache_left_ -= column.bytes();
      return cache_.emplace(j, std::move(column)).first->second;
    }
    passing_ = std::move(column);
    passing_at_ = j;
    return passing_;
  }

  const Problem& problem_;
  const std::size_t columns_;
  const bool constant_;
  const bool free_;
  std::size_t cache_left_;
  std::unordered_map<std::size_t, GramColumn> cache_;
  GramColumn passing_;  // the last column that no longer fitted
  std::size_t passing_at_ = static_cast<std::size_t>(-1);

  ScaledWeights weights_;
  std::vector<double> alpha_;
  std::vector<double> correlation_;  // c
  std::vector<double> means_;        // of the columns; empty without an intercept
  std::vector<double> gradient_;
  double square_ = 0;        // p
  double cross_ = 0;         // q
  double label_square_ = 0;  // |y|^2/n
  double mean_label_ = 0;
  double mean_margin_ = 0;  // <means, v>
};

}  // namespace

std::unique_ptr<FrankWolfeIterate> gram_iterate(const Problem& problem, const FrankWolfeSettings& settings) {
  return std::make_unique<GramIterate>(problem, settings);
}

}  // namespace parley::algorithms
