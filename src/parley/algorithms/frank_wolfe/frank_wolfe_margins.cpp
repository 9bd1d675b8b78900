// Frank-Wolfe's point for any loss: margins M = XW are updated by the chosen column; the gradient X' phi'(M +
// b) / n is one pass over the rows and one over the matrix.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "parley/algorithms/frank_wolfe/frank_wolfe_iterate.h"
#include "parley/glm/batch.h"
#include "parley/glm/penalties.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

namespace {

using glm::Intercept;
using glm::Task;

struct SlopeAndCurvature {
  double slope = 0;
  double curvature = 0;
};

// The root of an increasing slope in [low, high], slope(low) <= 0 <= slope(high): Newton, halving the bracket
// whenever a step would leave it, until a step no longer changes x.
template <class F>
double root_of_increasing(double low, double high, double start, const F& f) {
  const double negligible = 1e-18 * (high - low);
  double x = start;
  for (int i = 0; i < 100; ++i) {
    const SlopeAndCurvature at = f(x);
    if (at.slope == 0) return x;
    (at.slope < 0 ? low : high) = x;
    double next = at.curvature > 0 ? x - at.slope / at.curvature : low;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    const double change = std::abs(next - x);
    x = next;
    if (change <= std::max(1e-15 * std::abs(x), negligible)) break;
  }
  return x;
}

class MarginIterate final : public FrankWolfeIterate {
 public:
  explicit MarginIterate(const Problem& problem)
      : problem_(problem),
        rows_(problem.labels.size()),
        columns_(static_cast<std::size_t>(problem.features.cols())),
        classes_(static_cast<std::size_t>(problem.objective.classes)),
        constant_(problem.objective.intercept == Intercept::kPenalised),
        free_(problem.objective.intercept == Intercept::kFree),
        width_(columns_ + (constant_ ? 1 : 0)),
        weights_(classes_ * width_),
        intercepts_(free_ ? classes_ : 0),
        margins_(classes_ * rows_),
        shifted_(classes_ * rows_),
        derivatives_(classes_ * rows_),
        direction_(classes_ * rows_),
        gradient_(classes_ * width_) {
    evaluate();
  }

  double objective() override { return objective_; }
  std::span<const double> gradient() override { return gradient_; }
  double gradient_at(std::size_t coordinate) override { return gradient_[coordinate]; }
  glm::Vertex steepest(const glm::L1Ball& ball) override { return ball.minimise_linear(gradient_); }
  double gradient_dot_weights() override { return weights_.scale() * linalg::dot(gradient_, weights_.unscaled()); }

  Segment segment(const glm::Vertex& vertex) override {
    aim(vertex);
    double square = linalg::squared_norm(direction_) / n();
    if (free_ && task() == Task::kLinear) {  // an intercept that follows its optimum takes the mean out
      double mean = 0;
      for (const double x : direction_) mean += x / n();
      square -= mean * mean;
    }
    return {vertex.value * gradient_[vertex.coordinate] - gradient_dot_weights(),
            glm::curvature_bound(task()) * square + l2() * weights_.squared_distance(vertex)};
  }

  double line_search(const glm::Vertex& vertex) override {
    const Segment bound = segment(vertex);
    if (bound.slope >= 0) return 0;
    const double short_step = -bound.slope >= bound.curvature ? 1.0 : -bound.slope / bound.curvature;
    if (task() == Task::kLinear) return short_step;  // the bound is the curvature itself
    const auto at = [&](double gamma) { return along(vertex, gamma); };
    if (at(1).slope <= 0) return 1;
    return root_of_increasing(0, 1, std::min(short_step, 0.5), at);
  }

  void move(const glm::Vertex& vertex, double gamma) override {
    for (double& margin : margins_) margin *= 1.0 - gamma;
    add_column(vertex.coordinate, gamma * vertex.value, margins_);
    weights_.move(vertex, gamma);
    evaluate();
  }

  void place(ScaledWeights weights) override {
    weights_ = std::move(weights);
    std::fill(margins_.begin(), margins_.end(), 0.0);
    for (std::size_t c = 0; c < weights_.unscaled().size(); ++c)
      if (weights_[c] != 0) add_column(c, weights_[c], margins_);
    evaluate();
  }

  void finish(Fit& fit) override {
    split(problem_, weights_.values(), fit);
    if (free_) fit.intercepts = intercepts_;
    fit.objective = objective_;
  }

 private:
  [[nodiscard]] Task task() const { return problem_.objective.task; }
  [[nodiscard]] double l2() const { return problem_.objective.l2; }
  [[nodiscard]] double n() const { return static_cast<double>(rows_); }

  std::span<double> plane(std::vector<double>& of, std::size_t k) { return std::span(of).subspan(k * rows_, rows_); }

  void add_column(std::size_t coordinate, double factor, std::vector<double>& margins) {
    const std::size_t j = coordinate % width_;
    const auto target = plane(margins, coordinate / width_);
    if (j < columns_)
      problem_.features.column_axpy(static_cast<linalg::Index>(j), factor, target);
    else
      for (double& margin : target) margin += factor;
  }

  // direction_ = margins of (vertex - W).
  void aim(const glm::Vertex& vertex) {
    std::transform(margins_.begin(), margins_.end(), direction_.begin(), [](double m) { return -m; });
    add_column(vertex.coordinate, vertex.value, direction_);
  }

  void shift(std::span<const double> intercepts) {
    for (std::size_t k = 0; k < classes_; ++k) {
      const double b = intercepts.empty() ? 0.0 : intercepts[k];
      const auto from = plane(margins_, k);
      std::transform(from.begin(), from.end(), plane(shifted_, k).begin(), [b](double m) { return m + b; });
    }
  }

  // Slope and curvature of F at W + gamma (vertex - W), the intercept held.
  SlopeAndCurvature along(const glm::Vertex& vertex, double gamma) {
    shift(intercepts_);
    for (std::size_t i = 0; i < shifted_.size(); ++i) shifted_[i] += gamma * direction_[i];
    const double distance = weights_.squared_distance(vertex);
    // <W, vertex - W> from ||vertex||^2 = ||W||^2 + 2 <W, vertex - W> + ||vertex - W||^2.
    const double inner = 0.5 * (vertex.value * vertex.value - weights_.squared_norm() - distance);
    glm::loss_derivatives(task(), shifted_, problem_.labels, derivatives_);
    SlopeAndCurvature at{linalg::dot(derivatives_, direction_) / n() + l2() * (inner + gamma * distance),
                         l2() * distance};
    glm::loss_curvatures(task(), shifted_, problem_.labels, derivatives_);
    double curvature = 0;
    if (task() == Task::kSoftmax) {
      for (std::size_t i = 0; i < rows_; ++i) {
        double mean = 0;
        double square = 0;
        for (std::size_t at_class = i; at_class < direction_.size(); at_class += rows_) {
          mean += derivatives_[at_class] * direction_[at_class];
          square += derivatives_[at_class] * direction_[at_class] * direction_[at_class];
        }
        curvature += square - mean * mean;
      }
    } else {
      for (std::size_t i = 0; i < rows_; ++i) curvature += derivatives_[i] * direction_[i] * direction_[i];
    }
    at.curvature += curvature / n();
    return at;
  }

  void fit_free_intercepts() {
    if (task() == Task::kLinear) {
      double sum = 0;
      for (std::size_t i = 0; i < rows_; ++i) sum += problem_.labels[i] - margins_[i];
      intercepts_[0] = sum / n();
    } else if (task() == Task::kSoftmax) {
      fit_softmax_intercepts();
    } else {
      fit_scalar_intercept();
    }
  }

  void fit_scalar_intercept() {
    const auto at = [&](double b) {
      shift(std::span(&b, 1));
      SlopeAndCurvature found;
      glm::loss_derivatives(task(), shifted_, problem_.labels, derivatives_);
      for (const double x : derivatives_) found.slope += x;
      glm::loss_curvatures(task(), shifted_, problem_.labels, derivatives_);
      for (const double x : derivatives_) found.curvature += x;
      return found;
    };
    // Widen a bracket around the last optimum.
    const double centre = intercepts_[0];
    double low = centre;
    double high = centre;
    const double slope = at(centre).slope;
    if (slope == 0) return;
    for (double reach = 1; slope > 0 && at(low).slope > 0; reach *= 2) low = centre - reach;
    for (double reach = 1; slope < 0 && at(high).slope < 0; reach *= 2) high = centre + reach;
    intercepts_[0] = root_of_increasing(low, high, centre, at);
  }

  // Newton in R^K with the sum of the intercepts held (adding a constant to all changes nothing), halved
  // until F decreases.
  void fit_softmax_intercepts() {
    const auto k_classes = static_cast<Eigen::Index>(classes_);
    double smallest_slope = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 50; ++round) {
      shift(intercepts_);
      const double before = glm::mean_loss_and_derivatives(task(), shifted_, problem_.labels, derivatives_);
      Eigen::VectorXd slope(k_classes);
      for (std::size_t k = 0; k < classes_; ++k) {
        double sum = 0;
        for (const double x : plane(derivatives_, k)) sum += x;
        slope[static_cast<Eigen::Index>(k)] = sum / n();
      }
      const double size = slope.lpNorm<Eigen::Infinity>();
      if (size <= 1e-16 || (size < 1e-9 && size > 0.5 * smallest_slope)) return;
      smallest_slope = std::min(smallest_slope, size);
      glm::loss_curvatures(task(), shifted_, problem_.labels, derivatives_);  // probabilities
      Eigen::MatrixXd hessian = Eigen::MatrixXd::Constant(k_classes, k_classes, 1.0 / static_cast<double>(classes_));
      for (std::size_t a = 0; a < classes_; ++a) {
        double sum = 0;
        for (const double p : plane(derivatives_, a)) sum += p;
        hessian(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(a)) += sum / n();
        for (std::size_t b = 0; b < classes_; ++b)
          hessian(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)) -=
              linalg::dot(plane(derivatives_, a), plane(derivatives_, b)) / n();
      }
      const Eigen::VectorXd step = hessian.ldlt().solve(slope);
      const std::vector<double> from = intercepts_;
      const double rounding = 1e-15 * std::abs(before);
      double after = before;
      for (double length = 1; length > 1e-6; length *= 0.5) {
        for (std::size_t k = 0; k < classes_; ++k)
          intercepts_[k] = from[k] - length * step[static_cast<Eigen::Index>(k)];
        shift(intercepts_);
        after = glm::mean_loss(task(), shifted_, problem_.labels);
        if (after <= before + rounding) break;
      }
      if (!(after <= before + rounding)) {
        intercepts_ = from;
        return;
      }
    }
  }

  void evaluate() {
    if (free_) fit_free_intercepts();
    shift(intercepts_);
    objective_ = glm::mean_loss_and_derivatives(task(), shifted_, problem_.labels, derivatives_) +
                 0.5 * l2() * weights_.squared_norm();
    linalg::scale(1.0 / n(), derivatives_);
    for (std::size_t k = 0; k < classes_; ++k) {
      const auto target = std::span(gradient_).subspan(k * width_, width_);
      problem_.features.multiply_transposed(plane(derivatives_, k), target.first(columns_));
      if (!constant_) continue;
      double sum = 0;
      for (const double x : plane(derivatives_, k)) sum += x;
      target[columns_] = sum;
    }
    if (l2() != 0) linalg::axpy(l2() * weights_.scale(), weights_.unscaled(), gradient_);
  }

  const Problem& problem_;
  const std::size_t rows_;
  const std::size_t columns_;
  const std::size_t classes_;
  const bool constant_;
  const bool free_;
  const std::size_t width_;  // coordinates per class

  ScaledWeights weights_;
  std::vector<double> intercepts_;   // free ones
  std::vector<double> margins_;      // XW, without free intercepts
  std::vector<double> shifted_;      // with them
  std::vector<double> derivatives_;  // of the mean loss
  std::vector<double> direction_;
  std::vector<double> gradient_;
  double objective_ = 0;
};

}  // namespace

std::unique_ptr<FrankWolfeIterate> margin_iterate(const Problem& problem) {
  return std::make_unique<MarginIterate>(problem);
}

}  // namespace parley::algorithms
