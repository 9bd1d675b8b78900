#include "parley/algorithms/exact/exact_sparse_certificate.h"

#include <algorithm>
#include <cmath>

namespace parley::algorithms {

namespace {

// R(w) + R*(scale * v) - scale * <v, w> over the penalised coordinates, v = -gradient.
struct PenaltyTerms {
  double l1, l2;

  // Requires |scale * v|_inf <= l1 when l2 = 0.
  double operator()(std::span<const double> w, std::span<const double> gradient, std::span<const char> penalised,
                    double scale) const {
    double sum = 0;
    for (std::size_t j = 0; j < w.size(); ++j) {
      if (!penalised[j]) continue;
      const double v = -scale * gradient[j];
      const double over = std::max(0.0, std::abs(v) - l1);
      if (w[j] == 0.0 && over == 0.0) continue;
      sum += l1 * std::abs(w[j]) - v * w[j] + 0.5 * l2 * w[j] * w[j];
      if (l2 > 0) sum += 0.5 * over * over / l2;
    }
    return std::max(0.0, sum);
  }
};

}  // namespace

void mean_loss_gradient(const Problem& problem, std::span<const double> slopes, std::span<double> gradient) {
  const auto n = static_cast<std::size_t>(problem.features.rows());
  const auto d = static_cast<std::size_t>(problem.features.cols());
  const bool intercept = problem.objective.intercept != glm::Intercept::kNone;
  const std::size_t stride = d + (intercept ? 1 : 0);
  for (std::size_t k = 0; k < static_cast<std::size_t>(problem.objective.classes); ++k) {
    const auto of_class = slopes.subspan(k * n, n);
    problem.features.multiply_transposed(of_class, gradient.subspan(k * stride, d));
    if (!intercept) continue;
    double sum = 0;
    for (const double s : of_class) sum += s;
    gradient[k * stride + d] = sum;
  }
}

double duality_gap(const Problem& problem, const MeanLoss& loss, const PrimalPoint& at, double resolve) {
  const glm::Objective& objective = problem.objective;
  const std::size_t size = at.coefficients.size();
  const auto d = static_cast<std::size_t>(problem.features.cols());
  const bool free_intercept = objective.intercept == glm::Intercept::kFree;
  const std::size_t stride = d + (objective.intercept != glm::Intercept::kNone ? 1 : 0);
  std::vector<char> penalised(size, 1);
  if (free_intercept)
    for (std::size_t c = d; c < size; c += stride) penalised[c] = 0;

  std::vector<double> theta(at.slopes.begin(), at.slopes.end());
  for (double& t : theta) t = -t;
  std::vector<double> balanced_gradient;
  std::span<const double> gradient = at.gradient;
  double from_balance = 0;
  if (free_intercept) {
    loss.balance(theta);
    std::vector<double> slopes = theta;
    for (double& s : slopes) s = -s;
    balanced_gradient.resize(size);
    mean_loss_gradient(problem, slopes, balanced_gradient);
    gradient = balanced_gradient;
    from_balance = loss.fenchel_young(at.margins, theta, 1.0);
  }

  if (objective.l1_radius) {
    double steepest = 0;
    double sum = 0;
    for (std::size_t j = 0; j < size; ++j) {
      if (!penalised[j]) continue;
      const double v = -(gradient[j] + objective.l2 * at.coefficients[j]);
      steepest = std::max(steepest, std::abs(v));
      sum += objective.l1 * std::abs(at.coefficients[j]) - v * at.coefficients[j];
    }
    return std::max(0.0, from_balance + sum + *objective.l1_radius * std::max(0.0, steepest - objective.l1));
  }

  const PenaltyTerms penalty{objective.l1, objective.l2};
  double steepest = 0;
  for (std::size_t j = 0; j < size; ++j)
    if (penalised[j]) steepest = std::max(steepest, std::abs(gradient[j]));
  const double scale = steepest > objective.l1 ? objective.l1 / steepest : 1.0;
  if (objective.l2 == 0 && !free_intercept) {
    double dual = at.mean_loss;
    for (std::size_t i = 0; i < theta.size(); ++i) dual += theta[i] * at.margins[i];
    const double chord = at.objective - scale * std::max(0.0, dual);
    if (chord > resolve) return chord;
  }
  const double scaled = scale == 1.0 ? from_balance : loss.fenchel_young(at.margins, theta, scale);
  double gap = scaled + penalty(at.coefficients, gradient, penalised, scale);
  if (objective.l2 > 0) gap = std::min(gap, from_balance + penalty(at.coefficients, gradient, penalised, 1.0));
  return gap;
}

}  // namespace parley::algorithms
